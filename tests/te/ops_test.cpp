// SPDX-License-Identifier: Apache-2.0
// Products, reductions, normalisations, element-wise and shape operators against naive loops.
#include "ir/visit.h"
#include "te/arrays.h"

namespace tenon::te {
namespace {

using ir::BinaryOp;
using Tensors = std::vector<Tensor>;

TEST(Matmul, EqualsNaiveLoops) {
  Rng rng(1);
  struct Case {
    int64_t m, n, k;
    bool ta, tb;
  };
  for (const Case& t :
       {Case{1, 1, 1, false, false}, Case{3, 5, 7, false, false}, Case{2, 3, 5, true, false},
        Case{4, 1, 3, false, true}, Case{5, 7, 2, true, true}}) {
    const Nd a = random_nd(rng, t.ta ? Index{t.k, t.m} : Index{t.m, t.k});
    const Nd w = random_nd(rng, t.tb ? Index{t.n, t.k} : Index{t.k, t.n});
    const Nd got = run_op({a, w}, [&](Builder& b, const Tensors& xs) {
      return matmul(b, "C", xs[0], xs[1], t.ta, t.tb);
    });
    Nd want({t.m, t.n});
    for_each({t.m, t.n, t.k}, [&](const Index& i) {
      want({i[0], i[1]}) += a(t.ta ? Index{i[2], i[0]} : Index{i[0], i[2]}) *
                            w(t.tb ? Index{i[1], i[2]} : Index{i[2], i[1]});
    });
    expect_equal(want, got);
  }
}

TEST(Matmul, DenseReadsWeightsByRow) {
  Rng rng(2);
  const Nd x = random_nd(rng, {3, 5});
  const Nd w = random_nd(rng, {2, 5});
  const Nd got =
      run_op({x, w}, [](Builder& b, const Tensors& xs) { return dense(b, "C", xs[0], xs[1]); });
  Nd want({3, 2});
  for_each({3, 2, 5}, [&](const Index& i) {
    want({i[0], i[1]}) += x({i[0], i[2]}) * w({i[1], i[2]});
  });
  expect_equal(want, got);
}

TEST(Matmul, BatchDimensionsBroadcast) {
  Rng rng(3);
  struct Case {
    Index a, w, batch;
  };
  for (const Case& t : {Case{{2, 3, 5}, {2, 5, 4}, {2}}, Case{{1, 3, 5}, {3, 5, 2}, {3}},
                        Case{{2, 1, 3, 5}, {3, 5, 4}, {2, 3}}, Case{{3, 5}, {2, 5, 1}, {2}}}) {
    const Nd a = random_nd(rng, t.a);
    const Nd w = random_nd(rng, t.w);
    const Nd got = run_op(
        {a, w}, [](Builder& b, const Tensors& xs) { return batch_matmul(b, "C", xs[0], xs[1]); });
    Index shape = t.batch;
    shape.insert(shape.end(), {3, t.w.back()});
    const auto leading = [&](const Index& i, const Index& own) {
      Index at;
      for (size_t d = 0; d + 2 < own.size(); ++d) {
        at.push_back(own[d] == 1 ? 0 : i[t.batch.size() + 2 - own.size() + d]);
      }
      return at;
    };
    const Nd want = make(shape, [&](const Index& i) {
      double sum = 0;
      for (int64_t k = 0; k < 5; ++k) {
        Index at_a = leading(i, t.a);
        Index at_w = leading(i, t.w);
        at_a.insert(at_a.end(), {i[i.size() - 2], k});
        at_w.insert(at_w.end(), {k, i.back()});
        sum += a(at_a) * w(at_w);
      }
      return sum;
    });
    expect_equal(want, got);
  }
}

TEST(Matmul, HalfPrecisionSumsInF32) {
  Rng rng(4);
  for (const ir::DType t : {ir::kF16, ir::kBF16}) {
    const Nd a = random_nd(rng, {2, 300}, 1, 1);
    const Nd w = random_nd(rng, {300, 1}, 1, 1);
    const Nd got = run_op(
        {a, w}, [](Builder& b, const Tensors& xs) { return matmul(b, "C", xs[0], xs[1]); }, t);
    EXPECT_EQ(got.data, (std::vector<double>{300, 300}));
  }
}

TEST(Reduce, EveryCombinerOverEveryDimension) {
  Rng rng(5);
  const Nd x = random_nd(rng, {3, 1, 5}, -2, 2);
  for (const BinaryOp op : {BinaryOp::kAdd, BinaryOp::kMul, BinaryOp::kMin, BinaryOp::kMax,
                            BinaryOp::kMinimum, BinaryOp::kMaximum}) {
    for (const Index& dims : {Index{0}, Index{-1}, Index{0, 2}, Index{2, 0, 1}, Index{}}) {
      for (const bool keep : {false, true}) {
        const Nd got = run_op({x}, [&](Builder& b, const Tensors& xs) {
          return reduce_dims(b, "Y", xs[0], op, dims, keep);
        });
        std::vector<bool> gone(3, false);
        for (const int64_t d : dims) {
          gone[static_cast<size_t>(d < 0 ? d + 3 : d)] = true;
        }
        Index kept_shape;
        for (size_t d = 0; d < 3; ++d) {
          if (!gone[d] || keep) {
            kept_shape.push_back(gone[d] ? 1 : x.shape[d]);
          }
        }
        const bool smallest = op == BinaryOp::kMin || op == BinaryOp::kMinimum;
        const double start = op == BinaryOp::kAdd   ? 0
                             : op == BinaryOp::kMul ? 1
                             : smallest             ? INFINITY
                                                    : -INFINITY;
        Nd want(kept_shape, start);
        for_each(x.shape, [&](const Index& i) {
          Index at;
          for (size_t d = 0; d < 3; ++d) {
            if (!gone[d] || keep) {
              at.push_back(gone[d] ? 0 : i[d]);
            }
          }
          double& v = want(at);
          v = op == BinaryOp::kAdd   ? v + x(i)
              : op == BinaryOp::kMul ? v * x(i)
              : smallest             ? std::min(v, x(i))
                                     : std::max(v, x(i));
        });
        expect_equal(want, got);
      }
    }
  }
}

TEST(Reduce, AnyAndAll) {
  const Nd x = make({3, 2}, [](const Index& i) { return i[0] >= i[1] + 1 ? 1.0 : 0.0; });
  const auto reduce = [&](BinaryOp op) {
    return run_op(
               {x},
               [&](Builder& b, const Tensors& xs) {
                 return reduce_dims(b, "Y", xs[0], op, {1}, false);
               },
               ir::kBool)
        .data;
  };
  EXPECT_EQ(reduce(BinaryOp::kOr), (std::vector<double>{0, 1, 1}));
  EXPECT_EQ(reduce(BinaryOp::kAnd), (std::vector<double>{0, 0, 1}));
}

TEST(Reduce, Norm2) {
  Rng rng(6);
  const Nd x = random_nd(rng, {3, 5, 7});
  const Nd got = run_op({x}, [](Builder& b, const Tensors& xs) { return norm2(b, "Y", xs[0]); });
  const Nd want = make({3}, [&](const Index& n) {
    double sum = 0;
    for_each({5, 7}, [&](const Index& i) { sum += std::pow(x({n[0], i[0], i[1]}), 2); });
    return std::sqrt(sum);
  });
  expect_equal(want, got, 1e-5);
}

TEST(Norm, SoftmaxOfRows) {
  Rng rng(7);
  for (const Index& shape : {Index{5}, Index{3, 7}, Index{2, 3, 1}}) {
    const Nd x = random_nd(rng, shape, -30, 30);
    const Nd got =
        run_op({x}, [](Builder& b, const Tensors& xs) { return softmax(b, "Y", xs[0]); });
    const Nd want = make(shape, [&](const Index& at) {
      double sum = 0;
      for (int64_t j = 0; j < shape.back(); ++j) {
        Index other = at;
        other.back() = j;
        sum += std::exp(x(other) - x(at));
      }
      return 1 / sum;
    });
    expect_equal(want, got, 1e-6);
  }
}

TEST(Norm, LayerNorm) {
  Rng rng(8);
  for (const Index& shape : {Index{7}, Index{3, 5}, Index{2, 2, 3}}) {
    const int64_t n = shape.back();
    const Nd x = random_nd(rng, shape);
    const Nd scale = random_nd(rng, {n});
    const Nd bias = random_nd(rng, {n});
    const Nd got = run_op({x, scale, bias}, [](Builder& b, const Tensors& xs) {
      return layer_norm(b, "Y", xs[0], xs[1], xs[2], 1e-3);
    });
    const Nd want = make(shape, [&](const Index& at) {
      double mean = 0;
      double variance = 0;
      const auto each = [&](const std::function<void(double)>& fn) {
        for (int64_t j = 0; j < n; ++j) {
          Index other = at;
          other.back() = j;
          fn(x(other));
        }
      };
      each([&](double v) { mean += v / static_cast<double>(n); });
      each([&](double v) { variance += (v - mean) * (v - mean) / static_cast<double>(n); });
      return (x(at) - mean) / std::sqrt(variance + 1e-3) * scale({at.back()}) + bias({at.back()});
    });
    expect_equal(want, got, 1e-5);
  }
}

TEST(Elementwise, BroadcastsAsNumpyDoes) {
  Rng rng(9);
  const Nd a = random_nd(rng, {3, 1, 5});
  const Nd c = random_nd(rng, {4, 1});
  const Nd s = random_nd(rng, {});
  const Nd got = run_op({a, c, s}, [](Builder& b, const Tensors& xs) {
    return elementwise(b, "Y", {xs[0], xs[1], xs[2]},
                       [](std::span<const ir::Expr> v) { return v[0] * v[1] - v[2]; });
  });
  expect_equal(make({3, 4, 5},
                    [&](const Index& i) {
                      return a({i[0], 0, i[2]}) * c({i[1], 0}) - s({});
                    }),
               got);
}

TEST(Elementwise, ReluAndGelu) {
  const Nd x = make({9}, [](const Index& i) { return static_cast<double>(i[0]) - 4; });
  const Nd r = run_op({x}, [](Builder& b, const Tensors& xs) { return relu(b, "Y", xs[0]); });
  expect_equal(make({9}, [&](const Index& i) { return std::max(x(i), 0.0); }), r);
  const Nd g = run_op({x}, [](Builder& b, const Tensors& xs) { return gelu(b, "Y", xs[0]); });
  expect_equal(
      make({9}, [&](const Index& i) { return 0.5 * x(i) * (1 + std::erf(x(i) / std::sqrt(2.0))); }),
      g, 1e-6);
}

TEST(Shape, Transpose) {
  Rng rng(10);
  const Nd x = random_nd(rng, {2, 3, 5});
  const Nd got = run_op({x}, [](Builder& b, const Tensors& xs) {
    return transpose(b, "Y", xs[0], {2, 0, 1});
  });
  expect_equal(make({5, 2, 3}, [&](const Index& i) { return x({i[1], i[2], i[0]}); }), got);
}

TEST(Shape, ReshapeKeepsTheOrderOfElements) {
  Rng rng(11);
  for (const auto& [from, to] : std::vector<std::pair<Index, Index>>{{{6}, {2, 3}},
                                                                     {{2, 3}, {6}},
                                                                     {{4, 6}, {3, 8}},
                                                                     {{2, 3, 5}, {5, 6}},
                                                                     {{2, 3, 5}, {30}},
                                                                     {{1}, {}},
                                                                     {{}, {1, 1}},
                                                                     {{6, 4}, {2, 3, 2, 2}},
                                                                     {{1, 7, 1}, {7}}}) {
    const Nd x = random_nd(rng, from);
    const Nd got =
        run_op({x}, [&](Builder& b, const Tensors& xs) { return reshape(b, "Y", xs[0], to); });
    EXPECT_EQ(got.shape, to);
    EXPECT_EQ(got.data, x.data);
  }
}

TEST(Shape, ReshapeThatSplitsOrMergesIsSimple) {
  Builder b;
  const Tensor x = b.input("X", ir::kF32, {12, 5});
  const Tensor y = reshape(b, "Y", x, {3, 4, 5});
  const Tensor z = reshape(b, "Z", y, {60});
  b.output(z);
  const std::string text = to_text(b.finish());
  EXPECT_NE(text.find("Y[i0: 3, i1: 4, i2: 5] = X[i0 * 4 + i1, i2]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("Z[i0: 60] = Y[i0 // 20, i0 // 5 % 4, i0 % 5]\n"), std::string::npos) << text;
}

TEST(Shape, Concat) {
  Rng rng(12);
  const Nd a = random_nd(rng, {2, 3});
  const Nd c = random_nd(rng, {2, 1});
  const Nd d = random_nd(rng, {2, 4});
  const Nd got =
      run_op({a, c, d}, [](Builder& b, const Tensors& xs) { return concat(b, "Y", xs, -1); });
  expect_equal(make({2, 8},
                    [&](const Index& i) {
                      return i[1] < 3 ? a(i) : i[1] < 4 ? c({i[0], 0}) : d({i[0], i[1] - 4});
                    }),
               got);
}

TEST(Shape, SliceAndPad) {
  Rng rng(13);
  const Nd x = random_nd(rng, {7, 5});
  const Nd s = run_op({x}, [](Builder& b, const Tensors& xs) {
    return slice(b, "Y", xs[0], {1, 4}, {3, 2}, {2, -3});
  });
  expect_equal(make({3, 2}, [&](const Index& i) { return x({1 + 2 * i[0], 4 - 3 * i[1]}); }), s);
  const Nd p = run_op({x}, [](Builder& b, const Tensors& xs) {
    return pad(b, "Y", xs[0], {1, 0}, {2, 3}, 7.5);
  });
  expect_equal(make({10, 8}, [&](const Index& i) { return x.or_else({i[0] - 1, i[1]}, 7.5); }), p);
}

TEST(Shape, GatherWrapsNegativesAndClamps) {
  Builder b;
  const Tensor x = b.input("X", ir::kF32, {2, 5, 3});
  const Tensor index = b.input("I", ir::kI32, {2, 4});
  b.output(gather(b, "Y", x, index, 1));
  const ComputeDag dag = b.finish();
  EXPECT_EQ(parse(to_text(dag)).structural_hash(), dag.structural_hash());
  Rng rng(14);
  const Nd values = random_nd(rng, {2, 5, 3});
  Nd chosen({2, 4});
  chosen.data = {0, 4, -1, -5, 2, 9, -9, 1};
  const std::vector<int64_t> means = {0, 4, 4, 0, 2, 4, 0, 1};
  const Nd got = run(dag, {values, chosen}).at(0);
  expect_equal(make({2, 2, 4, 3},
                    [&](const Index& i) {
                      return values({i[0], means[static_cast<size_t>(i[1] * 4 + i[2])], i[3]});
                    }),
               got);
}

TEST(Builder, RefusalsNameTheOperatorAndTheReason) {
  struct Case {
    const char* message;
    std::function<void(Builder&)> build;
  };
  const auto x = [](Builder& b, std::vector<int64_t> s, ir::DType t = ir::kF32) {
    return b.input("X" + std::to_string(b.dag().inputs.size()), t, std::move(s));
  };
  const Case kCases[] = {
      {"C: inner extents 3 and 4 differ",
       [&](Builder& b) {
         matmul(b, "C", x(b, {2, 3}), x(b, {4, 5}));
       }},
      {"C: operands have ranks 3 and 2, not 2",
       [&](Builder& b) {
         matmul(b, "C", x(b, {2, 3, 1}), x(b, {3, 5}));
       }},
      {"C: operands are f32 and i8",
       [&](Builder& b) {
         matmul(b, "C", x(b, {2, 3}), x(b, {3, 5}, ir::kI8));
       }},
      {"C: batch extents 2 and 3 differ",
       [&](Builder& b) {
         batch_matmul(b, "C", x(b, {2, 3, 4}), x(b, {3, 4, 5}));
       }},
      {"V: a window of 5 does not fit an input of 3 padded by 0 and 1",
       [&](Builder& b) {
         conv(b, "V", x(b, {1, 1, 3}), x(b, {1, 1, 5}), {{}, {}, {1}, {}, 1});
       }},
      {"V: 4 output channels do not divide into 3 groups",
       [&](Builder& b) {
         conv(b, "V", x(b, {1, 3, 3}), x(b, {4, 1, 1}), {{}, {}, {}, {}, 3});
       }},
      {"V: input has 3 channels; weights want 2 in each of 1 groups",
       [&](Builder& b) {
         conv(b, "V", x(b, {1, 3, 3}), x(b, {4, 2, 1}), {});
       }},
      {"V: 4 spatial dimensions",
       [&](Builder& b) {
         conv(b, "V", x(b, {1, 1, 3, 3, 3, 3}), x(b, {1, 1, 1, 1, 1, 1}), {});
       }},
      {"V: padding -1 is not in 0..2^31",
       [&](Builder& b) {
         conv(b, "V", x(b, {1, 1, 3}), x(b, {1, 1, 1}), {{}, {-1}, {}, {}, 1});
       }},
      {"V: 2 window parameters for 1 spatial dimensions",
       [&](Builder& b) {
         conv(b, "V", x(b, {1, 1, 3}), x(b, {1, 1, 1}), {{1, 1}, {}, {}, {}, 1});
       }},
      {"P: padding 2 and 0 is not smaller than the window of 2",
       [&](Builder& b) {
         pool(b, "P", x(b, {1, 1, 3}), Pool::kMax, {2}, {{}, {2}, {0}, {}, 1});
       }},
      {"P: average of i32",
       [&](Builder& b) {
         pool(b, "P", x(b, {1, 1, 3}, ir::kI32), Pool::kAverage, {2}, {});
       }},
      {"E: 'X1' cannot be broadcast: extents 4 and 3 differ",
       [&](Builder& b) {
         elementwise(b, "E", {x(b, {2, 3}), x(b, {4})},
                     [](std::span<const ir::Expr> v) { return v[0] + v[1]; });
       }},
      {"R: dimension 2 of a tensor of rank 2",
       [&](Builder& b) {
         reduce_dims(b, "R", x(b, {2, 3}), BinaryOp::kAdd, {2}, false);
       }},
      {"R: a dimension is named twice",
       [&](Builder& b) {
         reduce_dims(b, "R", x(b, {2, 3}), BinaryOp::kAdd, {1, -1}, false);
       }},
      {"S: 6 elements cannot become 5",
       [&](Builder& b) {
         reshape(b, "S", x(b, {2, 3}), {5});
       }},
      {"S: 0 is out of place in the permutation",
       [&](Builder& b) {
         transpose(b, "S", x(b, {2, 3}), {0, 0});
       }},
      {"S: position 4 of dimension 0 is not in 0..3",
       [&](Builder& b) { slice(b, "S", x(b, {4}), {2}, {3}); }},
      {"S: index 'X1' is f32", [&](Builder& b) { gather(b, "S", x(b, {4}), x(b, {2}), 0); }},
      {"S: 'X1' differs outside dimension 0",
       [&](Builder& b) {
         concat(b, "S", {x(b, {4, 2}), x(b, {4, 3})}, 0);
       }},
      {"L: 'X1' is not a vector of 3 elements",
       [&](Builder& b) {
         layer_norm(b, "L", x(b, {2, 3}), x(b, {2}), x(b, {3}), 1e-5);
       }},
      {"extent 0 of dimension 1 is not in 1..2^31",
       [&](Builder& b) {
         x(b, {2, 0});
       }},
      {"rank 13 is over the limit of 12", [&](Builder& b) { x(b, std::vector<int64_t>(13, 1)); }},
      {"it has 2^40 elements or more",
       [&](Builder& b) {
         x(b, {int64_t{1} << 30, int64_t{1} << 30, int64_t{1} << 30});
       }},
      {"nothing is an output", [&](Builder& b) { b.finish(); }},
      {"output 'X0' is not computed",
       [&](Builder& b) {
         b.output(x(b, {2}));
         b.finish();
       }},
      {"two tensors are named 'X0'",
       [&](Builder& b) {
         b.output(relu(b, "X0", x(b, {2})));
         b.finish();
       }},
      {"'A' is computed but neither read nor an output",
       [&](Builder& b) {
         const Tensor t = x(b, {2});
         relu(b, "A", t);
         b.output(relu(b, "B", t));
         b.finish();
       }},
      {"'B' is an output twice",
       [&](Builder& b) {
         const Tensor t = relu(b, "B", x(b, {2}));
         b.output(t);
         b.output(t);
         b.finish();
       }},
      {"index 0 of 'X0' (i0 + 1) runs from 1 to 2, but the dimension has extent 2",
       [&](Builder& b) {
         const Tensor t = x(b, {2});
         b.output(b.compute("A", {2}, [&](std::span<const ir::Var> a) {
           return ir::load(t, {a[0] + ir::Expr(1)});
         }));
         b.finish();
       }},
  };
  for (const Case& c : kCases) {
    Builder b;
    try {
      c.build(b);
      ADD_FAILURE() << "accepted: " << c.message;
    } catch (const UserError& e) {
      EXPECT_NE(std::string(e.what()).find(c.message), std::string::npos)
          << "got: " << e.what() << "\nwanted: " << c.message;
    }
  }
}

TEST(ConvTranspose, ReadsOfAMissingElementAreNeverEvaluated) {
  // Interpretation checks every access, so a run without an exception is the assertion.
  const Nd x({1, 1, 2, 2}, 1);
  const Nd w({1, 1, 3, 3}, 1);
  const Nd got = run_op({x, w}, [](Builder& b, const Tensors& xs) {
    return conv_transpose(b, "Y", xs[0], xs[1], {{2, 2}, {0, 0}, {0, 0}, {}, 1});
  });
  EXPECT_EQ(got.shape, (Index{1, 1, 5, 5}));
  EXPECT_EQ(got({0, 0, 2, 2}), 4);
  EXPECT_EQ(got({0, 0, 0, 0}), 1);
}

}  // namespace
}  // namespace tenon::te
