// SPDX-License-Identifier: Apache-2.0
#include "space/prefix_tree.h"

#include <vector>

namespace tenon::space {
namespace {

// A node is some hundred bytes: its stages are mostly its parent's.
constexpr int kMostNodes = 4096;
// Steps that differ from program to program, such as tile sizes, are not worth looking for.
constexpr int kMostChildren = 16;

}  // namespace

PrefixTree::PrefixTree(schedule::State initial)
    : root_(std::make_unique<Node>(schedule::Step{}, std::move(initial))) {}

PrefixTree::~PrefixTree() {
  std::vector<Node*> open{root_->first_.load()};
  while (!open.empty()) {
    Node* n = open.back();
    open.pop_back();
    if (n == nullptr) continue;
    open.push_back(n->next_);
    open.push_back(n->first_.load());
    delete n;
  }
}

const PrefixTree::Node* PrefixTree::after(const Node* node, const schedule::Step& step) {
  for (const Node* n = node->first_.load(std::memory_order_acquire); n != nullptr; n = n->next_) {
    if (n->step_ == step) return n;
  }
  return nullptr;
}

// Two threads may add the same step at once; the older of the two is then never found again.
const PrefixTree::Node* PrefixTree::add(const Node* node, const schedule::Step& step,
                                        const schedule::State& state) {
  Node* parent = const_cast<Node*>(node);
  Node* newest = parent->first_.load(std::memory_order_acquire);
  if (newest != nullptr && newest->depth_in_list_ + 1 >= kMostChildren) return nullptr;
  if (nodes_.fetch_add(1, std::memory_order_relaxed) >= kMostNodes) {
    nodes_.fetch_sub(1, std::memory_order_relaxed);
    return nullptr;
  }
  Node* fresh = new Node(step, state);
  do {
    fresh->next_ = newest;
    fresh->depth_in_list_ = newest == nullptr ? 0 : newest->depth_in_list_ + 1;
  } while (!parent->first_.compare_exchange_weak(newest, fresh, std::memory_order_acq_rel));
  return fresh;
}

}  // namespace tenon::space
