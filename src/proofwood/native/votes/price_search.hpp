// The cheapest row of a box that scores enough: branch and bound over boxes, bounded by messages.
//
// Theory: docs/theory/explanations.md, "Nearest rows".
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <set>
#include <vector>

#include "common/watch.hpp"
#include "votes/messages.hpp"
#include "votes/priced_climb.hpp"
#include "votes/prices.hpp"

namespace proofwood::votes {

struct PriceRules {
  bool sweeps = true;  // messages; without, bounds by single leaves and cells
  bool settle = true;  // leaves and cells that are too dear are left out
  bool climb = true;   // local search
  int first_rounds = 20, further_rounds = 3;
  int large = 200'000;  // needs of a model in which local search begins in small parts
};

// One way to be a row that is looked for: all its leads are reached.
using Way = std::vector<Lead>;

class PriceSearch {
 public:
  enum class Ended { kDoubt, kDone, kStopped };

  // `upper`: rows of this price or more are of no interest. `near`: the row asked about.
  PriceSearch(const Model& model, std::vector<Way> ways, Prices prices, const Box& box, const std::vector<int>& near,
              std::int64_t upper, PriceRules rules);
  PriceSearch(const PriceSearch&) = delete;
  PriceSearch& operator=(const PriceSearch&) = delete;

  // Climbs from the rows to start from, without any bound; all of it is part of run(), too.
  Ended climb(Watch& watch);
  // Goes on until there is no cheaper row than the best one, or until rounding decides about a row: it is for the
  // caller to say whether that counts.
  Ended run(Watch& watch);
  const std::vector<int>& doubtful() const { return doubtful_; }
  void decide(bool counts);
  void start_from(const std::vector<int>& row);  // to climb from
  // Leaves, ascending, of rows that do not count: no row that reaches them does.
  const std::set<std::vector<int>>& refused_leaves() const { return refused_; }
  void refuse(std::vector<int> leaves) { refused_.insert(std::move(leaves)); }

  const std::vector<int>& best() const { return best_; }
  int way() const { return way_; }  // of the best row, -1 if none was found
  std::int64_t lower() const;       // no row of the box that counts costs less
  std::int64_t upper() const { return upper_; }
  std::int64_t nodes() const { return nodes_; }

 private:
  // What a search keeps of a box, to go on from there.
  struct Kept {
    KeptMessages messages;
    std::vector<std::int64_t> weights;
  };
  struct Numbers;
  struct Node {
    std::int64_t bound = 0, number = 0;
    int way = 0;
    Box box;
    std::shared_ptr<const Kept> kept;
  };
  // What the leaves lack to the best of their trees, for a lead, and what all trees together may lack.
  struct Lack {
    std::vector<std::int64_t> leaves;  // (n_leaves)
    i128 most = 0;
  };
  // A way's leads as worth: so much of a price for a unit of lead.
  struct Rate {
    std::vector<Lack> lacks;
    std::vector<std::int64_t> first;  // weights in the first box, times 2^shift
    std::int64_t most = 1;            // of a weight
    int shift = -1;                   // -1: not known yet
  };
  struct Later {
    bool operator()(const Node& a, const Node& b) const {
      return a.bound != b.bound ? a.bound > b.bound : a.number < b.number;
    }
  };

  void work(const Node& node, Watch& watch);
  bool possible(const Way& way) const;
  bool refused() const;
  void set_rate(int way);
  void load(const std::vector<int>* leaves);
  i128 paid() const;
  i128 enough() const { return paid() - (upper_ - 1); }
  std::int64_t bound() const;
  void adjust(int way);
  bool close(const Node& node, std::int64_t& bound, Watch& watch);
  bool offer(int way, const std::vector<int>& row);
  void take(int way, const std::vector<int>& row);
  bool try_from(int way, const std::vector<int>& start, Watch& watch);
  void branch(const Node& node, std::int64_t bound);

  const Model& model_;
  std::vector<Way> ways_;
  Prices prices_;
  Box all_;
  PriceRules rules_;
  std::vector<Rate> rates_;
  std::unique_ptr<Factors> factors_;  // made for the first box
  std::unique_ptr<Messages> messages_;
  Messages::Worth worth_;
  const Rate* rate_ = nullptr;         // of the way at hand
  std::vector<std::int64_t> weights_;  // of its leads
  std::vector<double> factors_of_weights_;
  std::vector<int> turns_;  // which way a weight went last: -1, 0, 1
  std::vector<std::unique_ptr<PricedClimb>> climbs_;
  std::vector<std::pair<int, std::vector<int>>> starts_;  // to climb from
  std::size_t kept_ = 0;                                  // numbers that the open nodes keep; outlives them
  std::priority_queue<Node, std::vector<Node>, Later> open_;
  std::int64_t upper_, lower_ = 0, nodes_ = 0, numbers_ = 0;
  std::int64_t parting_ = kNever;  // bound of a node that has left the queue, until its parts are there
  std::vector<int> best_, doubtful_, near_, row_;
  int way_ = -1, doubtful_way_ = -1;
  std::vector<int> reached_;            // leaves of the row that was offered last
  std::set<std::vector<int>> refused_;  // see refused_leaves()
};

}  // namespace proofwood::votes
