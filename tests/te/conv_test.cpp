// SPDX-License-Identifier: Apache-2.0
#include "te/arrays.h"

namespace tenon::te {
namespace {

struct ConvCase {
  std::vector<int64_t> in, kernel, stride, before, after, dilation;
  int64_t n, c, k, groups;
};

ConvParams params(const ConvCase& t) { return {t.stride, t.before, t.after, t.dilation, t.groups}; }

int64_t or_default(const std::vector<int64_t>& v, size_t d, int64_t otherwise) {
  return v.empty() ? otherwise : v[d];
}

const ConvCase kConvs[] = {
    {{5}, {3}, {}, {}, {}, {}, 1, 1, 1, 1},
    {{7}, {3}, {2}, {1}, {2}, {2}, 2, 3, 5, 1},
    {{1}, {1}, {1}, {0}, {0}, {1}, 1, 1, 1, 1},
    {{5, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, 3, 2, 1},
    {{5, 7}, {3, 2}, {2, 3}, {0, 1}, {2, 0}, {1, 2}, 2, 2, 3, 1},
    {{1, 1}, {1, 1}, {}, {}, {}, {}, 3, 5, 7, 1},
    {{3, 3}, {3, 3}, {2, 2}, {2, 1}, {1, 2}, {1, 1}, 1, 4, 6, 2},
    {{4, 5}, {2, 3}, {1, 2}, {0, 0}, {1, 0}, {2, 1}, 1, 6, 6, 6},
    {{4, 5}, {2, 2}, {1, 1}, {}, {}, {}, 1, 3, 9, 3},
    {{3, 4, 5}, {2, 1, 3}, {1, 2, 1}, {1, 0, 1}, {0, 0, 1}, {1, 1, 2}, 1, 2, 3, 1},
    {{3, 2, 2}, {3, 2, 2}, {1, 1, 1}, {1, 1, 0}, {1, 0, 1}, {1, 1, 1}, 2, 2, 4, 2},
};

std::vector<int64_t> out_extents(const ConvCase& t) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < t.in.size(); ++d) {
    const int64_t padded = t.in[d] + or_default(t.before, d, 0) + or_default(t.after, d, 0);
    const int64_t span = or_default(t.dilation, d, 1) * (t.kernel[d] - 1) + 1;
    out.push_back((padded - span) / or_default(t.stride, d, 1) + 1);
  }
  return out;
}

std::vector<int64_t> join(std::vector<int64_t> a, const std::vector<int64_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Group by group, as the definition has it: output channel g*kpg + ko sees inputs g*cpg + ci.
Nd naive_conv(const ConvCase& t, const Nd& x, const Nd& w) {
  Nd out(join({t.n, t.k}, out_extents(t)));
  const int64_t cpg = t.c / t.groups;
  const int64_t kpg = t.k / t.groups;
  for_each(join({t.n, t.groups, kpg, cpg}, join(out_extents(t), t.kernel)), [&](const Index& i) {
    Index at_out{i[0], i[1] * kpg + i[2]};
    Index at_x{i[0], i[1] * cpg + i[3]};
    Index at_w{i[1] * kpg + i[2], i[3]};
    for (size_t d = 0; d < t.in.size(); ++d) {
      const int64_t y = i[4 + d];
      const int64_t r = i[4 + t.in.size() + d];
      at_out.push_back(y);
      at_x.push_back(y * or_default(t.stride, d, 1) + r * or_default(t.dilation, d, 1) -
                     or_default(t.before, d, 0));
      at_w.push_back(r);
    }
    out(at_out) += x.or_else(at_x, 0) * w(at_w);
  });
  return out;
}

TEST(Conv, EqualsNaiveLoops) {
  Rng rng(1);
  for (const ConvCase& t : kConvs) {
    const Nd x = random_nd(rng, join({t.n, t.c}, t.in));
    const Nd w = random_nd(rng, join({t.k, t.c / t.groups}, t.kernel));
    const Nd got = run_op({x, w}, [&](Builder& b, const std::vector<Tensor>& xs) {
      return conv(b, "Y", xs[0], xs[1], params(t));
    });
    expect_equal(naive_conv(t, x, w), got);
  }
}

TEST(Conv, SmallIntegersSumInI32) {
  Rng rng(2);
  const ConvCase& t = kConvs[4];
  const Nd x = random_nd(rng, join({t.n, t.c}, t.in), -100, 100);
  const Nd w = random_nd(rng, join({t.k, t.c / t.groups}, t.kernel), -100, 100);
  const Nd got = run_op(
      {x, w},
      [&](Builder& b, const std::vector<Tensor>& xs) {
        Tensor y = conv(b, "Y", xs[0], xs[1], params(t));
        EXPECT_EQ(y.dtype(), ir::kI32);
        return y;
      },
      ir::kI8);
  expect_equal(naive_conv(t, x, w), got);
}

TEST(Depthwise, EqualsNaiveLoops) {
  Rng rng(3);
  struct Case {
    int64_t c, m, h, w, kh, kw, stride, pad;
  };
  for (const Case& t : {Case{3, 1, 5, 4, 3, 3, 1, 1}, Case{2, 3, 5, 7, 2, 3, 2, 1},
                        Case{1, 1, 1, 1, 1, 1, 1, 0}, Case{5, 2, 3, 3, 3, 1, 1, 0}}) {
    const Nd x = random_nd(rng, {2, t.c, t.h, t.w});
    const Nd w = random_nd(rng, {t.c, t.m, t.kh, t.kw});
    const Nd got = run_op({x, w}, [&](Builder& b, const std::vector<Tensor>& xs) {
      return depthwise_conv2d(b, "Y", xs[0], xs[1],
                              {{t.stride, t.stride}, {t.pad, t.pad}, {t.pad, t.pad}, {}, 1});
    });
    const int64_t oh = (t.h + 2 * t.pad - t.kh) / t.stride + 1;
    const int64_t ow = (t.w + 2 * t.pad - t.kw) / t.stride + 1;
    Nd want({2, t.c * t.m, oh, ow});
    for_each({2, t.c, t.m, oh, ow, t.kh, t.kw}, [&](const Index& i) {
      want({i[0], i[1] * t.m + i[2], i[3], i[4]}) +=
          x.or_else({i[0], i[1], i[3] * t.stride + i[5] - t.pad, i[4] * t.stride + i[6] - t.pad},
                    0) *
          w({i[1], i[2], i[5], i[6]});
    });
    expect_equal(want, got);
  }
}

struct TransposeCase {
  std::vector<int64_t> in, kernel, stride, before, after, dilation, output_pad;
  int64_t n, c, k, groups;  // k: output channels per group
};

// Scatters each input element, which is what "gradient of conv" means.
Nd naive_conv_transpose(const TransposeCase& t, const Nd& x, const Nd& w) {
  std::vector<int64_t> out;
  for (size_t d = 0; d < t.in.size(); ++d) {
    out.push_back((t.in[d] - 1) * t.stride[d] - t.before[d] - t.after[d] +
                  (t.kernel[d] - 1) * t.dilation[d] + 1 + t.output_pad[d]);
  }
  Nd y(join({t.n, t.k * t.groups}, out));
  const int64_t cpg = t.c / t.groups;
  for_each(join({t.n, t.c, t.k}, join(t.in, t.kernel)), [&](const Index& i) {
    Index at_x{i[0], i[1]};
    Index at_w{i[1], i[2]};
    Index at_y{i[0], i[1] / cpg * t.k + i[2]};
    for (size_t d = 0; d < t.in.size(); ++d) {
      const int64_t in = i[3 + d];
      const int64_t r = i[3 + t.in.size() + d];
      at_x.push_back(in);
      at_w.push_back(r);
      at_y.push_back(in * t.stride[d] + r * t.dilation[d] - t.before[d]);
    }
    if (y.inside(at_y)) {
      y(at_y) += x(at_x) * w(at_w);
    }
  });
  return y;
}

const TransposeCase kTransposes[] = {
    {{4, 4}, {4, 4}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 1, 2, 3, 1},
    {{3, 5}, {3, 2}, {2, 3}, {0, 1}, {1, 0}, {1, 1}, {1, 2}, 2, 2, 2, 1},
    {{1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, {0, 0}, 1, 1, 1, 1},
    {{5, 3}, {3, 3}, {1, 1}, {1, 2}, {1, 0}, {2, 1}, {0, 0}, 1, 3, 2, 1},
    {{3, 4}, {2, 2}, {3, 2}, {0, 0}, {0, 0}, {1, 1}, {0, 1}, 1, 4, 3, 2},
    {{5}, {3}, {2}, {1}, {0}, {1}, {1}, 2, 3, 2, 1},
    {{2, 3, 2}, {2, 3, 1}, {2, 1, 2}, {0, 1, 0}, {1, 1, 0}, {1, 1, 1}, {0, 0, 1}, 1, 2, 2, 1},
};

TEST(ConvTranspose, EqualsScattering) {
  Rng rng(4);
  for (const TransposeCase& t : kTransposes) {
    const Nd x = random_nd(rng, join({t.n, t.c}, t.in));
    const Nd w = random_nd(rng, join({t.c, t.k}, t.kernel));
    const Nd got = run_op({x, w}, [&](Builder& b, const std::vector<Tensor>& xs) {
      return conv_transpose(b, "Y", xs[0], xs[1],
                            {t.stride, t.before, t.after, t.dilation, t.groups}, t.output_pad);
    });
    expect_equal(naive_conv_transpose(t, x, w), got);
  }
}

TEST(Capsule, EqualsNaiveLoops) {
  Rng rng(5);
  for (const int64_t stride : {1, 2}) {
    const Nd x = random_nd(rng, {2, 4, 5, 3, 4, 4});
    const Nd w = random_nd(rng, {3, 2, 3, 4, 4, 5});
    const Nd got = run_op({x, w}, [&](Builder& b, const std::vector<Tensor>& xs) {
      return capsule_conv2d(b, "Y", xs[0], xs[1], {{stride, stride}, {1, 0}, {1, 1}, {}, 1});
    });
    const int64_t oh = (4 + 2 - 3) / stride + 1;
    const int64_t ow = (5 + 1 - 2) / stride + 1;
    Nd want({2, oh, ow, 5, 4, 4});
    for_each({2, oh, ow, 5, 4, 4, 3, 2, 3 * 4}, [&](const Index& i) {
      const int64_t c = i[8] / 4;
      const int64_t l = i[8] % 4;
      want({i[0], i[1], i[2], i[3], i[4], i[5]}) +=
          x.or_else({i[0], i[1] * stride + i[6] - 1, i[2] * stride + i[7], c, i[4], l}, 0) *
          w({i[6], i[7], c, l, i[5], i[3]});
    });
    expect_equal(want, got);
  }
}

struct PoolCase {
  std::vector<int64_t> in, kernel, stride, before, after, dilation;
};

const PoolCase kPools[] = {
    {{5}, {2}, {2}, {0}, {0}, {1}},
    {{5, 7}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}},
    {{4, 5}, {2, 3}, {1, 2}, {1, 0}, {0, 2}, {1, 1}},
    {{3, 4}, {3, 2}, {1, 1}, {1, 2}, {2, 1}, {1, 3}},
    {{1, 1}, {2, 2}, {1, 1}, {1, 2}, {1, 2}, {1, 3}},  // one window sees padding only
    {{2, 3, 3}, {2, 2, 1}, {1, 2, 1}, {0, 1, 0}, {1, 0, 0}, {1, 1, 1}},
};

Nd naive_pool(const PoolCase& t, const Nd& x, Pool kind) {
  const ConvCase shape{t.in, t.kernel, t.stride, t.before, t.after, t.dilation, 1, 1, 1, 1};
  return make(join({x.shape[0], x.shape[1]}, out_extents(shape)), [&](const Index& at) {
    double sum = 0;
    double top = -INFINITY;
    double seen = 0;
    double all = 0;
    for_each(t.kernel, [&](const Index& r) {
      Index i{at[0], at[1]};
      for (size_t d = 0; d < r.size(); ++d) {
        i.push_back(at[2 + d] * t.stride[d] + r[d] * t.dilation[d] - t.before[d]);
      }
      all += 1;
      if (x.inside(i)) {
        seen += 1;
        sum += x(i);
        top = std::max(top, x(i));
      }
    });
    return kind == Pool::kMax ? top : sum / (kind == Pool::kAverage ? std::max(seen, 1.0) : all);
  });
}

TEST(Pooling, EqualsNaiveLoops) {
  Rng rng(6);
  for (const PoolCase& t : kPools) {
    for (const Pool kind : {Pool::kMax, Pool::kAverage, Pool::kAverageIncludePad}) {
      if (kind == Pool::kMax && t.in == std::vector<int64_t>{1, 1}) {
        continue;
      }
      const Nd x = random_nd(rng, join({2, 3}, t.in));
      const Nd got = run_op({x}, [&](Builder& b, const std::vector<Tensor>& xs) {
        return pool(b, "Y", xs[0], kind, t.kernel, {t.stride, t.before, t.after, t.dilation, 1});
      });
      expect_equal(naive_pool(t, x, kind), got, 1e-6);
    }
  }
}

TEST(Pooling, MaximumOfIntegersPadsWithTheLowest) {
  const Nd x = make({1, 1, 3}, [](const Index& i) { return -100.0 + static_cast<double>(i[2]); });
  const Nd got = run_op(
      {x},
      [](Builder& b, const std::vector<Tensor>& xs) {
        return pool(b, "Y", xs[0], Pool::kMax, {2}, {{1}, {1}, {1}, {}, 1});
      },
      ir::kI8);
  EXPECT_EQ(got.data, (std::vector<double>{-100, -99, -98, -98}));
}

}  // namespace
}  // namespace tenon::te
