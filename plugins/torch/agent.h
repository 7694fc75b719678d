// SPDX-License-Identifier: Apache-2.0
// An agent that learns to choose layouts by proximal policy optimisation (Schulman et al. 2017), as in Xu et al., "ALT":
// an actor for each kind of factor, whose action is drawn from a Beta distribution, and one critic for all of them. An
// episode is one layout; it is rewarded once, after its last step.
//
//   Agent agent(50, 7, 1);
//   const double a = agent.act(2, state);   // once for each factor
//   const int64_t episode = agent.end();
//   agent.reward(episode, 0.12);            // 12 % faster than the default; learns after every few episodes
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "random.h"

namespace tenon::agent {

class Agent {
 public:
  Agent(uint32_t state_size, uint32_t actors, uint64_t seed);

  double act(uint32_t actor, const double* state);
  int64_t end();
  void reward(int64_t episode, double reward);

  void save(const std::string& file) const;  // these throw
  void load(const std::string& file);

 private:
  struct Step {
    int64_t actor;
    std::vector<float> state;
    double action, log_probability, value;
    double advantage = 0, target = 0;
  };
  struct Episode {
    std::vector<Step> steps;
    double reward = 0;
  };

  torch::nn::Sequential make_network(int64_t outputs, double last_scale, double last_bias);
  // Rows of [a, b], the parameters of the Beta distributions.
  torch::Tensor policies(const torch::Tensor& states, const torch::Tensor& actors);
  std::vector<torch::Tensor> parameters() const;
  void learn();
  void learn_from(const std::vector<const Step*>& batch);

  int64_t state_size_;
  Random random_;
  std::vector<torch::nn::Sequential> actors_;
  torch::nn::Sequential critic_{nullptr};
  std::unique_ptr<torch::optim::Adam> optimizer_;
  Episode under_way_;
  std::map<int64_t, Episode> waiting_;  // for their reward
  std::vector<Episode> rewarded_;
  int64_t next_episode_ = 0;
};

}  // namespace tenon::agent
