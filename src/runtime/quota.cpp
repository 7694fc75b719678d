// SPDX-License-Identifier: Apache-2.0
#include "runtime/quota.h"

#include <stdint.h>
#include <stdio.h>

#include "runtime/text_file.h"

namespace tenon::runtime {
namespace {

struct Hierarchy {
  bool unified;                // version 2
  char group[PATH_MAX];        // of this process, "/a/b"
  char mount_point[PATH_MAX];  // where its files lie
  char mount_root[PATH_MAX];   // the group that the mount point shows
};

bool equal(const char* a, const char* b) {
  const size_t length = strlen(a);
  return length == strlen(b) && memcmp(a, b, length) == 0;
}

bool copy(char* to, const char* from) { return snprintf(to, PATH_MAX, "%s", from) < PATH_MAX; }

// Whether the word is one of the list "rw,cpu,cpuacct".
bool lists(const char* list, const char* word) {
  const size_t length = strlen(word);
  for (const char* at = list; at != nullptr; at = strchr(at, ',')) {
    at += *at == ',' ? 1 : 0;
    if (strlen(at) >= length && memcmp(at, word, length) == 0 &&
        (at[length] == ',' || at[length] == 0)) {
      return true;
    }
  }
  return false;
}

// Ends the word at `at` and returns the next one, which may be empty.
char* cut(char* at, char separator) {
  char* end = strchr(at, separator);
  if (end == nullptr) {
    return at + strlen(at);
  }
  *end = 0;
  return end + 1;
}

// "4:cpu,cpuacct:/a/b" of version 1, "0::/a/b" of version 2.
bool find_group(const char* root, Hierarchy& h) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
  Lines lines(path);
  while (char* line = lines.next()) {
    char* controllers = cut(line, ':');
    char* group = cut(controllers, ':');
    if (h.unified ? equal(line, "0") && *controllers == 0 : lists(controllers, "cpu")) {
      return copy(h.group, group);
    }
  }
  return false;
}

// "32 31 0:29 ROOT POINT rw,relatime shared:9 - cgroup cgroup rw,cpu": any number of words before the dash.
bool find_mount(const char* root, Hierarchy& h) {
  char path[PATH_MAX];
  snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
  Lines lines(path);
  while (char* line = lines.next()) {
    char* mount_root = cut(cut(cut(line, ' '), ' '), ' ');
    char* point = cut(mount_root, ' ');
    char* word = cut(point, ' ');
    while (*word != 0 && !(word[0] == '-' && word[1] == ' ')) {
      word = cut(word, ' ');
    }
    char* type = cut(word, ' ');
    char* options = cut(cut(type, ' '), ' ');
    if (h.unified ? equal(type, "cgroup2") : equal(type, "cgroup") && lists(options, "cpu")) {
      return copy(h.mount_root, mount_root) && copy(h.mount_point, point);
    }
  }
  return false;
}

// The group as seen from the mount point. A container may be shown its own group as the root of all, or the names that
// its groups have outside: where the two do not fit together, what is mounted is the group.
const char* seen_group(const Hierarchy& h) {
  const size_t length = equal(h.mount_root, "/") ? 0 : strlen(h.mount_root);
  const char* rest = h.group + length;
  const bool below = strlen(h.group) >= length && memcmp(h.group, h.mount_root, length) == 0 &&
                     (*rest == 0 || *rest == '/');
  return below && strstr(h.group, "/..") == nullptr ? rest : "";
}

int64_t number_in(const char* folder, const char* name) {
  char path[2 * PATH_MAX];
  char text[64];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  read_text(path, text, sizeof text);
  const char* at = text;
  return read_number(at);
}

// 0: this group sets none, "max" or -1.
int limit_of(const char* folder, bool unified) {
  int64_t quota = 0;
  int64_t period = 0;
  if (unified) {
    char path[2 * PATH_MAX];
    char text[64];
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    read_text(path, text, sizeof text);  // "max 100000" or "150000 100000"
    const char* at = text;
    quota = read_number(at);
    at += *at == ' ' ? 1 : 0;
    period = read_number(at);
  } else {
    quota = number_in(folder, "cpu.cfs_quota_us");
    period = number_in(folder, "cpu.cfs_period_us");
  }
  if (quota <= 0 || period <= 0) {
    return 0;
  }
  const int64_t cpus = quota / period;
  return cpus < 1 ? 1 : cpus > (1 << 20) ? 1 << 20 : static_cast<int>(cpus);
}

int smaller(int a, int b) { return a == 0 || (b != 0 && b < a) ? b : a; }

// The tightest limit from the group of this process up to the mount point.
int limit_along(const char* root, const Hierarchy& h) {
  char folder[PATH_MAX];
  const int mount = snprintf(folder, sizeof folder, "%s%s", root, h.mount_point);
  const int length = snprintf(folder, sizeof folder, "%s%s%s", root, h.mount_point, seen_group(h));
  if (length >= PATH_MAX) {
    return 0;
  }
  int limit = 0;
  for (;;) {
    limit = smaller(limit, limit_of(folder, h.unified));
    char* slash = strrchr(folder + mount, '/');
    if (slash == nullptr) {
      return limit;
    }
    *slash = 0;
  }
}

int granted_by(const char* root, bool unified) {
  Hierarchy h{unified, "", "", "/"};
  if (!find_mount(root, h)) {  // mounts cannot be read: groups lie where they usually do
    copy(h.mount_point, unified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu");
  }
  find_group(root, h);
  return limit_along(root, h);
}

}  // namespace

int granted_cpus(const char* root) {
  return smaller(granted_by(root, false), granted_by(root, true));
}

}  // namespace tenon::runtime
