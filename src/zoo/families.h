// SPDX-License-Identifier: Apache-2.0
// What the family files offer to the table in architectures.cpp.
#pragma once

#include "zoo/model_builder.h"
#include "zoo/zoo.h"

namespace tenon::zoo {

void build_resnet18(ModelBuilder& m, const Options& options);
void build_resnet50(ModelBuilder& m, const Options& options);
void build_resnext50(ModelBuilder& m, const Options& options);
void build_r3d_18(ModelBuilder& m, const Options& options);
void build_mobilenet_v2(ModelBuilder& m, const Options& options);
void build_efficientnet_b0(ModelBuilder& m, const Options& options);
void build_densenet121(ModelBuilder& m, const Options& options);
void build_vgg16(ModelBuilder& m, const Options& options);
void build_squeezenet1_1(ModelBuilder& m, const Options& options);
void build_dqn(ModelBuilder& m, const Options& options);
void build_dcgan(ModelBuilder& m, const Options& options);
void build_bert_tiny(ModelBuilder& m, const Options& options);
void build_bert_base(ModelBuilder& m, const Options& options);
void build_vit_b_16(ModelBuilder& m, const Options& options);
void build_lstm_lm(ModelBuilder& m, const Options& options);

}  // namespace tenon::zoo
