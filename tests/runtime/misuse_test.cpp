// SPDX-License-Identifier: Apache-2.0
// What programs do wrong with contexts must end in an answer that says so: never in wrong numbers, a hang or a crash.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "runtime/by_hand.h"
#include "runtime/checksum.h"
#include "support/sanitized.h"

namespace tenon::runtime {
namespace {

namespace fs = std::filesystem;

bool says(const char* text, const char* part) { return std::strstr(text, part) != nullptr; }

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "tenon_misuse_XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const char* name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

TEST(Busy, ARunDuringARunIsRefused) {
  const WeightsFile file;
  for (const int32_t threads : {1, 3}) {
    const Ctx ctx = create(with_weights(file, threads));
    std::atomic<int> stage{0};  // 1: inside the run, 2: may go on
    tenon_model_set_hook(
        ctx.get(),
        [](void* user, int32_t step, int32_t after) {
          auto& at = *static_cast<std::atomic<int>*>(user);
          if (step == 1 && after == 0) {
            at = 1;
            while (at != 2) {
              std::this_thread::yield();
            }
          }
        },
        &stage);
    const Buffers first(0);
    const Buffers second(8);
    first.fill(1);
    second.fill(2);
    *second.n = -1;
    int answer = -1;
    std::thread other([&] { answer = first.run(ctx.get()); });
    while (stage != 1) {
      std::this_thread::yield();
    }
    EXPECT_EQ(second.run(ctx.get()), 2);
    EXPECT_EQ(*second.n, -1);
    stage = 2;
    other.join();
    EXPECT_EQ(answer, 0);
    EXPECT_TRUE(first.is_right(1));
    EXPECT_EQ(tenon_model_refused(ctx.get()), 1);
    tenon_model_set_hook(ctx.get(), nullptr, nullptr);
    fill_and_check(ctx.get(), second, 2);
  }
  EXPECT_TRUE(says(tenon_model_error(2), "one context per thread"));
}

TEST(Busy, NoAnswerIsWrongWhenTwoThreadsShareAContext) {
  const WeightsFile file;
  const Ctx ctx = create(with_weights(file, 2));
  std::atomic<int> done{0};
  std::atomic<int> refused{0};
  std::atomic<int> wrong{0};
  const auto work = [&](int thread) {
    const Buffers b(thread == 0 ? 0 : 8);
    for (int round = 0; round < 3000; ++round) {
      const auto add = static_cast<float>(10 * round + thread);
      b.fill(add);
      const int answer = b.run(ctx.get());
      done += answer == 0 ? 1 : 0;
      refused += answer == 2 ? 1 : 0;
      wrong += answer == 0 && !b.is_right(add) ? 1 : 0;
    }
  };
  std::thread other(work, 1);
  work(0);
  other.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(done, 0);
  EXPECT_EQ(done + refused, 6000);
  EXPECT_EQ(tenon_model_refused(ctx.get()), refused);
}

TEST(Busy, AHookCannotRunItsOwnContext) {
  const WeightsFile file;
  struct Inner {
    tenon_model_ctx* ctx;
    int answer = -1;
  };
  const Ctx ctx = create(with_weights(file));
  Inner inner{ctx.get()};
  tenon_model_set_hook(
      ctx.get(),
      [](void* user, int32_t, int32_t) {
        auto& i = *static_cast<Inner*>(user);
        i.answer = Buffers(0).run(i.ctx);
      },
      &inner);
  fill_and_check(ctx.get(), Buffers(0), 1);
  EXPECT_EQ(inner.answer, 2);
}

TEST(Null, IsAnsweredNotFollowed) {
  const Buffers b(0);
  EXPECT_EQ(b.run(nullptr), 1);
  EXPECT_TRUE(says(tenon_model_error(1), "NULL"));
  EXPECT_EQ(tenon_model_threads(nullptr), 0);
  EXPECT_EQ(tenon_model_refused(nullptr), 0);
  tenon_model_set_hook(nullptr, nullptr, nullptr);
  tenon_model_destroy(nullptr);
  const WeightsFile file;
  const tenon_runtime nothing{nullptr, nullptr, 2};
  tenon_model_options o = with_weights(file);
  o.runtime = &nothing;
  EXPECT_TRUE(says(refusal(o).c_str(), "its `parallel` is NULL: give the function"));
  const tenon_runtime nobody{[](const tenon_runtime*, tenon_body, void*, int64_t) {}, nullptr, 0};
  o.runtime = &nobody;
  EXPECT_TRUE(says(refusal(o).c_str(), "its `threads` is 0: give 1 or more"));
}

TEST(Null, EveryCodeHasASentence) {
  for (int code = 0; code < 4; ++code) {
    EXPECT_GT(std::strlen(tenon_model_error(code)), 3U);
  }
  EXPECT_STREQ(tenon_model_error(4), "run does not return this code");
  EXPECT_STREQ(tenon_model_error(-1), "run does not return this code");
}

// The exit code of a child that does `action`; a child that hangs is ended by a signal.
int in_child(const std::function<int()>& action) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    _exit(action());
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Fork, TheChildIsToldInsteadOfHanging) {
  const WeightsFile file;
  for (const int32_t threads : {1, 2, 5}) {
    Ctx ctx = create(with_weights(file, threads));
    const Buffers b(0);
    for (int round = 0; round < 60; ++round) {
      if (round % 3 != 0) {  // workers are awake, or asleep
        fill_and_check(ctx.get(), b, static_cast<float>(round));
      } else {
        std::this_thread::sleep_for(std::chrono::microseconds(300 * (round % 5)));
      }
      ASSERT_EQ(in_child([&] {
                  const int answer = b.run(ctx.get());
                  ctx.reset();
                  return answer;
                }),
                3)
          << threads << " threads, round " << round;
    }
    fill_and_check(ctx.get(), b, 1);  // the parent does not notice
  }
  EXPECT_TRUE(says(tenon_model_error(3), "create the context after fork"));
}

TEST(Fork, WhileAnotherThreadRuns) {
  const WeightsFile file;
  Ctx ctx = create(with_weights(file, 2));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::thread other([&] {
    const Buffers b(0);
    b.fill(3);
    while (!stop) {
      wrong += b.run(ctx.get()) == 0 && b.is_right(3) ? 0 : 1;
    }
  });
  const Buffers mine(8);
  for (int round = 0; round < 100; ++round) {
    ASSERT_EQ(in_child([&] {
                const int answer = mine.run(ctx.get());
                ctx.reset();
                return answer;
              }),
              3);
  }
  stop = true;
  other.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Fork, TheChildCreatesItsOwn) {
  if (kThreadSanitized) {
    GTEST_SKIP() << "the thread sanitizer starts no threads after fork()";
  }
  const WeightsFile file;
  const Ctx before = create(with_weights(file, 3));
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(in_child([&] {
                const Ctx own = create(with_weights(file, 3));
                const Buffers b(0);
                b.fill(2);
                const bool right = b.run(own.get()) == 0 && b.is_right(2);
                // Its own child is told as well.
                const int inner = in_child([&] { return b.run(own.get()); });
                return right && inner == 3 && b.run(before.get()) == 3 ? 0 : 1;
              }),
              0);
  }
}

TEST(Weights, OnlyARegularFileIsOpened) {
  const Folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  fs::create_directory(folder / "folder");
  fs::create_symlink(folder / "pipe", folder / "link");
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{AF_UNIX, ""};
  std::strncpy(address.sun_path, (folder / "socket").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  tenon_model_options o{};
  o.size = sizeof o;
  const auto refused = [&](const std::string& path) {
    o.weights_path = path.c_str();
    return refusal(o);
  };
  for (const std::string& path :
       {folder / "pipe", folder / "link", folder / "folder", std::string("/dev/zero")}) {
    EXPECT_TRUE(says(refused(path).c_str(), "are not a regular file")) << refused(path);
  }
  EXPECT_TRUE(says(refused(folder / "socket").c_str(), "cannot be opened"));
  EXPECT_TRUE(says(refused(folder / "nothing").c_str(), "are not there"));
  close(server);
}

TEST(Weights, AShortenedFileIsRefused) {
  const Folder folder;
  const std::string path = folder / "w";
  const WeightsFile file;
  tenon_model_options o{};
  o.size = sizeof o;
  o.weights_path = path.c_str();
  for (const size_t bytes :
       {size_t{0}, size_t{63}, size_t{64}, sizeof file - 64, sizeof file - 1}) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(&file), static_cast<std::streamsize>(bytes));
    EXPECT_TRUE(says(refusal(o).c_str(), bytes < 64 ? "are too short" : "bytes instead of 4096"))
        << refusal(o);
  }
}

// Libraries keep the checksum that the tenon of their day computed: it never changes.
TEST(Weights, TheChecksumIsTheSameForEver) {
  const WeightsFile file;
  EXPECT_EQ(chunk_checksum(0, file.w, sizeof file.w), kWeightsChecksum);
  EXPECT_NE(chunk_checksum(1, file.w, sizeof file.w), kWeightsChecksum);
}

TEST(Weights, AnyChangedByteIsFound) {
  WeightsFile file;
  auto* bytes = reinterpret_cast<unsigned char*>(file.w);
  for (size_t i = 0; i < sizeof file.w; ++i) {
    const auto flip = static_cast<unsigned char>(1U << (i % 8));
    bytes[i] ^= flip;
    ASSERT_TRUE(says(refusal(with_weights(file)).c_str(),
                     "were changed since they were written (their checksum differs)"))
        << i;
    bytes[i] ^= flip;
  }
  const Ctx ctx = create(with_weights(file));
}

// Changes that cancel out in weak sums: signs of any two numbers, two numbers exchanged, all zero.
TEST(Weights, ChangesDoNotCancelOut) {
  WeightsFile file;
  const auto is_refused = [&] {
    const tenon_model_options o = with_weights(file);
    return Ctx(tenon_model_create_with(&o, nullptr)) == nullptr;
  };
  for (size_t i = 1; i < 200; ++i) {
    for (size_t j = i + 1; j < 200; ++j) {
      file.w[i] = -file.w[i];
      file.w[j] = -file.w[j];
      ASSERT_TRUE(is_refused()) << i << " " << j;
      file.w[i] = -file.w[i];
      file.w[j] = -file.w[j];
    }
    std::swap(file.w[i], file.w[i + 16]);
    ASSERT_TRUE(is_refused()) << i;
    std::swap(file.w[i], file.w[i + 16]);
  }
  EXPECT_FALSE(is_refused());
  std::memset(file.w, 0, sizeof file.w);
  EXPECT_TRUE(is_refused());
}

TEST(Weights, TheChecksumCanBeLeftOut) {
  WeightsFile file;
  file.w[5] += 1;
  tenon_model_options o = with_weights(file);
  o.trust_weights = 1;
  const Ctx ctx = create(o);
  const Buffers b(0);
  b.fill(1);
  EXPECT_EQ(b.run(ctx.get()), 0);
  EXPECT_EQ(b.y[5], 2 * (5 + 6.0F));
}

}  // namespace
}  // namespace tenon::runtime
