// SPDX-License-Identifier: Apache-2.0
#include "agent.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <stdexcept>

namespace tenon::agent {
namespace {

constexpr int64_t kHidden = 64;
constexpr size_t kEpisodesPerUpdate = 8;
constexpr int kEpochs = 4;
constexpr size_t kMinibatch = 32;
constexpr double kClip = 0.2;
constexpr double kLambda = 0.95;  // of generalised advantage estimation; rewards are not discounted
constexpr double kLearningRate = 3e-4;
constexpr double kEntropy = 0.01;
constexpr double kValue = 0.5;
constexpr double kMaxGradient = 0.5;
constexpr double kEdge =
    1e-4;  // actions stay this far from 0 and 1, where densities may be infinite
constexpr char kMagic[] = "tenon layout agent 1";

torch::Tensor log_density(const torch::Tensor& ab, const torch::Tensor& x) {
  const torch::Tensor a = ab.select(1, 0);
  const torch::Tensor b = ab.select(1, 1);
  return (a - 1) * x.log() + (b - 1) * (1 - x).log() + torch::lgamma(a + b) - torch::lgamma(a) -
         torch::lgamma(b);
}

torch::Tensor entropy(const torch::Tensor& ab) {
  const torch::Tensor a = ab.select(1, 0);
  const torch::Tensor b = ab.select(1, 1);
  return torch::lgamma(a) + torch::lgamma(b) - torch::lgamma(a + b) - (a - 1) * torch::digamma(a) -
         (b - 1) * torch::digamma(b) + (a + b - 2) * torch::digamma(a + b);
}

}  // namespace

// ---- networks -----------------------------------------------------------------------------------

Agent::Agent(uint32_t state_size, uint32_t actors, uint64_t seed)
    : state_size_(state_size), random_(seed) {
  // Networks this small gain nothing from threads, and sums stay the same.
  at::set_num_threads(1);
  for (uint32_t i = 0; i < actors; ++i) actors_.push_back(make_network(2, 0.1, -1));
  critic_ = make_network(1, 1, 0);
  optimizer_ =
      std::make_unique<torch::optim::Adam>(parameters(), torch::optim::AdamOptions(kLearningRate));
}

// Two hidden layers. A small last layer makes all first policies alike, and broad.
torch::nn::Sequential Agent::make_network(int64_t outputs, double last_scale, double last_bias) {
  const int64_t sizes[] = {state_size_, kHidden, kHidden, outputs};
  torch::nn::Sequential net;
  const torch::NoGradGuard no_grad;
  for (int i = 0; i < 3; ++i) {
    torch::nn::Linear layer(sizes[i], sizes[i + 1]);
    const double scale = (i == 2 ? last_scale : 1) / std::sqrt(static_cast<double>(sizes[i]));
    float* w = layer->weight.data_ptr<float>();
    for (int64_t n = 0; n < sizes[i] * sizes[i + 1]; ++n)
      w[n] = static_cast<float>(scale * random_.normal());
    layer->bias.fill_(i == 2 ? last_bias : 0);
    net->push_back(layer);
    if (i < 2) net->push_back(torch::nn::Tanh());
  }
  return net;
}

std::vector<torch::Tensor> Agent::parameters() const {
  std::vector<torch::Tensor> all;
  for (const torch::nn::Sequential& a : actors_) {
    for (const torch::Tensor& p : a->parameters()) all.push_back(p);
  }
  for (const torch::Tensor& p : critic_->parameters()) all.push_back(p);
  return all;
}

torch::Tensor Agent::policies(const torch::Tensor& states, const torch::Tensor& actors) {
  std::vector<torch::Tensor> by_actor;
  for (torch::nn::Sequential& a : actors_) by_actor.push_back(a->forward(states));
  const torch::Tensor all = torch::stack(by_actor, 1);  // states x actors x 2
  const torch::Tensor index = actors.view({-1, 1, 1}).expand({-1, 1, 2});
  return 1 + torch::softplus(all.gather(1, index).squeeze(1));
}

// ---- acting -------------------------------------------------------------------------------------

double Agent::act(uint32_t actor, const double* state) {
  const torch::NoGradGuard no_grad;
  Step s;
  s.actor = actor;
  s.state.assign(state, state + state_size_);
  const torch::Tensor input = torch::from_blob(s.state.data(), {1, state_size_}, torch::kFloat);
  const torch::Tensor ab = 1 + torch::softplus(actors_.at(actor)->forward(input));
  const double a = ab[0][0].item<double>();
  const double b = ab[0][1].item<double>();
  s.action = std::clamp(random_.beta(a, b), kEdge, 1 - kEdge);
  s.log_probability = log_density(ab, torch::full({1}, s.action, torch::kFloat)).item<double>();
  s.value = critic_->forward(input).item<double>();
  under_way_.steps.push_back(std::move(s));
  return under_way_.steps.back().action;
}

int64_t Agent::end() {
  const int64_t id = next_episode_++;
  waiting_[id] = std::move(under_way_);
  under_way_ = {};
  return id;
}

void Agent::reward(int64_t episode, double reward) {
  const auto it = waiting_.find(episode);
  if (it == waiting_.end()) throw std::invalid_argument("no such episode");
  it->second.reward = reward;
  rewarded_.push_back(std::move(it->second));
  waiting_.erase(it);
  if (rewarded_.size() >= kEpisodesPerUpdate) learn();
}

// ---- learning -----------------------------------------------------------------------------------

void Agent::learn() {
  std::vector<const Step*> steps;
  double mean = 0;
  for (Episode& e : rewarded_) {
    double advantage = 0;
    for (size_t t = e.steps.size(); t-- > 0;) {
      Step& s = e.steps[t];
      const bool last = t + 1 == e.steps.size();
      const double after = last ? e.reward : e.steps[t + 1].value;
      advantage = after - s.value + kLambda * advantage;
      s.advantage = advantage;
      s.target = advantage + s.value;
      mean += advantage;
      steps.push_back(&s);
    }
  }
  mean /= static_cast<double>(std::max<size_t>(steps.size(), 1));
  double square = 0;
  for (const Step* s : steps) square += (s->advantage - mean) * (s->advantage - mean);
  const double deviation =
      std::sqrt(square / static_cast<double>(std::max<size_t>(steps.size(), 1))) + 1e-8;
  for (Episode& e : rewarded_) {
    for (Step& s : e.steps) s.advantage = (s.advantage - mean) / deviation;
  }
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    for (size_t i = steps.size(); i > 1; --i) {  // shuffled
      const auto j = std::min(i - 1, static_cast<size_t>(random_.unit() * static_cast<double>(i)));
      std::swap(steps[i - 1], steps[j]);
    }
    for (size_t i = 0; i < steps.size(); i += kMinibatch) {
      const size_t end = std::min(steps.size(), i + kMinibatch);
      learn_from({steps.begin() + static_cast<std::ptrdiff_t>(i),
                  steps.begin() + static_cast<std::ptrdiff_t>(end)});
    }
  }
  rewarded_.clear();
}

void Agent::learn_from(const std::vector<const Step*>& batch) {
  const auto n = static_cast<int64_t>(batch.size());
  std::vector<float> states, actions, old, advantages, targets;
  std::vector<int64_t> actors;
  for (const Step* s : batch) {
    states.insert(states.end(), s->state.begin(), s->state.end());
    actors.push_back(s->actor);
    actions.push_back(static_cast<float>(s->action));
    old.push_back(static_cast<float>(s->log_probability));
    advantages.push_back(static_cast<float>(s->advantage));
    targets.push_back(static_cast<float>(s->target));
  }
  const auto column = [&](std::vector<float>& v) { return torch::from_blob(v.data(), {n}); };
  const torch::Tensor input = torch::from_blob(states.data(), {n, state_size_});
  const torch::Tensor ab =
      policies(input, torch::from_blob(actors.data(), {n}, torch::TensorOptions(torch::kLong)));
  const torch::Tensor ratio = (log_density(ab, column(actions)) - column(old)).exp();
  const torch::Tensor advantage = column(advantages);
  const torch::Tensor gain =
      torch::min(ratio * advantage, ratio.clamp(1 - kClip, 1 + kClip) * advantage).mean();
  const torch::Tensor error = (critic_->forward(input).squeeze(1) - column(targets)).pow(2).mean();
  const torch::Tensor loss = -gain + kValue * error - kEntropy * entropy(ab).mean();
  optimizer_->zero_grad();
  loss.backward();
  torch::nn::utils::clip_grad_norm_(parameters(), kMaxGradient);
  optimizer_->step();
}

// ---- files --------------------------------------------------------------------------------------

// The magic line, the sizes, and every weight as a 32-bit float in the order of parameters().
void Agent::save(const std::string& file) const {
  std::ofstream out(file, std::ios::binary);
  out << kMagic << "\n" << state_size_ << " " << actors_.size() << " " << kHidden << "\n";
  for (const torch::Tensor& p : parameters()) {
    out.write(reinterpret_cast<const char*>(p.data_ptr<float>()),
              static_cast<std::streamsize>(p.numel() * static_cast<int64_t>(sizeof(float))));
  }
  out.flush();
  if (!out) throw std::runtime_error("cannot write " + file);
}

void Agent::load(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::string magic;
  std::getline(in, magic);
  int64_t state = 0;
  size_t actors = 0;
  int64_t hidden = 0;
  in >> state >> actors >> hidden;
  in.get();
  if (!in || magic != kMagic || state != state_size_ || actors != actors_.size() ||
      hidden != kHidden) {
    throw std::runtime_error(file + " is not an agent of this form");
  }
  std::vector<std::vector<float>> read;
  for (const torch::Tensor& p : parameters()) {
    read.emplace_back(static_cast<size_t>(p.numel()));
    in.read(reinterpret_cast<char*>(read.back().data()),
            static_cast<std::streamsize>(read.back().size() * sizeof(float)));
  }
  if (!in || in.peek() != std::ifstream::traits_type::eof())
    throw std::runtime_error(file + " is cut off or too long");
  const torch::NoGradGuard no_grad;
  size_t i = 0;
  for (torch::Tensor& p : parameters()) {
    std::copy(read[i].begin(), read[i].end(), p.data_ptr<float>());
    ++i;
  }
}

}  // namespace tenon::agent
