// SPDX-License-Identifier: Apache-2.0
// States after the first steps of programs, remembered. The programs of one space begin alike, and a
// step that changes a layout or adds a stage costs as much as twenty that mark loops.
//
//   variant; cache_write; layout_split w [4, 16]  ..  two programs walk the same three nodes
//   split C i [4] | split C i [8]                 ..  and part here
//
// Many threads walk and grow one tree; what a node holds never changes.
#pragma once

#include <atomic>
#include <memory>

#include "schedule/trace.h"

namespace tenon::space {

class PrefixTree {
 public:
  class Node {
   public:
    Node(schedule::Step step, schedule::State state)
        : state_(std::move(state)), step_(std::move(step)) {}
    const schedule::State& state() const { return state_; }

   private:
    friend class PrefixTree;
    schedule::State state_;
    schedule::Step step_;                 // that led here from the parent; the root's means nothing
    std::atomic<Node*> first_ = nullptr;  // of the children, the newest
    Node* next_ = nullptr;                // of the parent's children
    int depth_in_list_ = 0;               // children of the parent that are older
  };

  explicit PrefixTree(schedule::State initial);
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  const Node* root() const { return root_.get(); }
  // The state after one more step; null: nobody took it yet.
  static const Node* after(const Node* node, const schedule::Step& step);
  // Remembers it; null: there is no room.
  const Node* add(const Node* node, const schedule::Step& step, const schedule::State& state);

 private:
  std::unique_ptr<Node> root_;
  std::atomic<int> nodes_ = 1;
};

}  // namespace tenon::space
