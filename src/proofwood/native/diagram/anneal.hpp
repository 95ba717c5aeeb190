// Annealing of trees of hyperplanes: one node moves along a line at a time, and every place on the line is weighed.
//
// Theory: docs/theory/layered-diagrams.md, "Annealing along lines".
#pragma once

#include <atomic>
#include <cstddef>
#include <random>
#include <utility>
#include <vector>

#include "common/integers.hpp"

namespace proofwood::diagram::anneal {

// A perfect tree: node i has the children 2i + 1 and 2i + 2, and a row goes high where its height is above 0.
struct Tree {
  std::vector<double> normal;  // (nodes, columns), absolute sum 1
  std::vector<double> offset;  // (nodes)
  std::vector<int> label;      // (nodes + 1) of the leaves from left to right
};

struct Rows {
  const double* columns;  // (n, d)
  const i64* cost;        // (n, classes) of giving a row a class
  std::size_t n, d, classes;
};

struct Settings {
  int layers = 1;
  i64 node_price = 0;  // of a node beyond the first that has rows on both sides
  double unit = 1;     // cost of a typical error
  double margin = 0;   // least distance of the rows of either side, for a hyperplane within the norm
  bool box = false;    // the norm: coefficients and offset in [-1, 1]; else absolute coefficients add up to 1
  double seconds = 0;  // all in all
  double cycle = 1;    // from hot to cold
  u64 seed = 0;
};

struct Found {
  Tree tree;
  i64 cost = 0;
  i64 moves = 0;
};

class Annealing {
 public:
  Annealing(const Rows& rows, const Settings& settings, const std::atomic<int>& stop);
  // Cycles until the time is up; the best tree of all.
  Found run();

 private:
  struct Crossing {
    double at;
    int row;
  };

  std::size_t nodes() const { return (std::size_t{1} << settings_.layers) - 1; }
  double* height(std::size_t node) { return &height_[node * rows_.n]; }
  void begin_at(const Tree& tree);
  Tree drawn();
  void lift(std::size_t node);
  std::size_t leaf_below(std::size_t node, std::size_t row) const;
  i64 cost_below(std::size_t node, std::size_t row) const {
    return rows_.cost[row * rows_.classes + static_cast<std::size_t>(now_.label[leaf_below(node, row) - nodes()])];
  }
  i64 recount() const;
  void list_rows(std::size_t node);
  void step(double temperature);
  bool draw_line(std::vector<double>& direction, double& shift);
  void move(std::size_t node, const std::vector<double>& direction, double shift, double temperature);
  double draw_place(std::size_t node, double temperature);
  bool moved_within_margin(std::size_t node, double place, const std::vector<double>& direction, double shift);
  void relabel(std::size_t leaf, double temperature);
  double uniform() { return std::uniform_real_distribution<>(0, 1)(random_); }
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  Rows rows_;
  Settings settings_;
  const std::atomic<int>& stop_;
  std::mt19937_64 random_;
  Tree now_;
  i64 cost_ = 0;
  std::vector<double> height_;       // (nodes, n)
  std::vector<int> here_;            // rows that reach the node
  std::vector<double> slope_;        // of those, along the line
  std::vector<double> direction_;    // of the normal
  std::vector<double> before_;       // normal of the node, before it moves
  std::vector<Crossing> crossings_;  // of those, where they change sides
  std::vector<i64> profile_;         // cost before the first crossing, and after each
};

}  // namespace proofwood::diagram::anneal
