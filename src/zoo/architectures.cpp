// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "support/check.h"
#include "support/nearest.h"
#include "zoo/families.h"

namespace tenon::zoo {
namespace {

constexpr Sizes kNone;
constexpr Sizes kImage224 = {224, 32, 32, 1024};
constexpr Sizes kFixed224 = {224, 224, 224, 224};
constexpr Sizes kTokens128 = {128, 1, 1, 512};

constexpr Architecture kArchitectures[] = {
    {"resnet18", "residual network, He 2015", 11689512, 13, kImage224, kNone, build_resnet18},
    {"resnet50", "residual network with bottlenecks, He 2015", 25557032, 13, kImage224, kNone,
     build_resnet50},
    {"resnext50_32x4d", "residual network with grouped convolutions, Xie 2016", 25028904, 13,
     kImage224, kNone, build_resnext50},
    {"r3d_18",
     "residual network on 16 frames of video, Tran 2017",
     33371472,
     13,
     {112, 16, 16, 224},
     kNone,
     build_r3d_18},
    {"mobilenet_v2", "inverted residuals with depthwise convolutions, Sandler 2018", 3504872, 13,
     kImage224, kNone, build_mobilenet_v2},
    {"efficientnet_b0", "mobile blocks with squeeze and excitation, Tan 2019", 5288548, 13,
     kImage224, kNone, build_efficientnet_b0},
    {"densenet121", "densely connected network, Huang 2016", 7978856, 13, kImage224, kNone,
     build_densenet121},
    {"vgg16", "plain 3x3 convolutions and large dense layers, Simonyan 2014", 138357544, 13,
     kFixed224, kNone, build_vgg16},
    {"squeezenet1_1", "fire modules of 1x1 and 3x3 convolutions, Iandola 2016", 1235496, 13,
     kImage224, kNone, build_squeezenet1_1},
    {"dcgan", "generator of 64x64 images by transposed convolutions, Radford 2015", 3576704, 13,
     kNone, kNone, build_dcgan},
    {"bert_tiny", "transformer encoder, 2 layers of 128, Turc 2019", 4385920, 13, kNone, kTokens128,
     build_bert_tiny},
    {"bert_base", "transformer encoder, 12 layers of 768, Devlin 2018", 109482240, 13, kNone,
     kTokens128, build_bert_base},
    {"vit_b_16", "vision transformer on patches of 16x16, Dosovitskiy 2020", 86567656, 17,
     kFixed224, kNone, build_vit_b_16},
    {"lstm_lm",
     "LSTM language model, 2 layers of 650, Zaremba 2014",
     19780400,
     13,
     kNone,
     {35, 1, 1, 512},
     build_lstm_lm},
    {"dqn", "Q-network for 18 actions of Atari games, Mnih 2015", 1693362, 13, kNone, kNone,
     build_dqn},
};

int64_t choose(const Architecture& a, std::string_view option, const Sizes& sizes, int64_t asked) {
  if (asked == 0) {
    return sizes.usual;
  }
  if (sizes.usual == 0) {
    throw UserError(fmt::format("{}: there is no --{} to choose", a.name, option));
  }
  if (asked < sizes.least || asked > sizes.most || asked % sizes.step != 0) {
    const std::string rule = sizes.least == sizes.most
                                 ? fmt::format("it is always {}", sizes.usual)
                                 : fmt::format("it is a multiple of {} from {} to {}", sizes.step,
                                               sizes.least, sizes.most);
    throw UserError(fmt::format("{}: --{} {} is not possible", a.name, option, asked), rule);
  }
  return asked;
}

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

const Architecture& find(std::string_view name) {
  std::vector<std::string> names;
  for (const Architecture& a : kArchitectures) {
    if (a.name == name) {
      return a;
    }
    names.emplace_back(a.name);
  }
  throw UserError(fmt::format("there is no architecture '{}'", name),
                  did_you_mean(std::string(name), names, "tenon zoo ls lists them"));
}

std::string model_bytes(const Architecture& architecture, const Options& options) {
  Options sized = options;
  if (sized.batch < 1 || sized.batch > 65536) {
    throw UserError(fmt::format("{}: --batch {} is not possible", architecture.name, sized.batch),
                    "it is from 1 to 65536");
  }
  sized.image = choose(architecture, "image", architecture.image, options.image);
  sized.tokens = choose(architecture, "tokens", architecture.tokens, options.tokens);
  ModelBuilder m(architecture.name, architecture.opset, options.seed);
  architecture.build(m, sized);
  TENON_CHECK(m.parameters() == architecture.parameters)
      << architecture.name << " has " << m.parameters() << " parameters, published are "
      << architecture.parameters;
  return m.bytes();
}

}  // namespace tenon::zoo
