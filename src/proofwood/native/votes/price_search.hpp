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
#include "votes/climb.hpp"
#include "votes/messages.hpp"
#include "votes/prices.hpp"

namespace proofwood::votes {

struct PriceRules {
  bool sweeps = true;   // messages; without, bounds by single leaves and cells
  bool settle = true;   // leaves and cells that are too dear are left out
  bool climb = true;    // local search
  bool record = false;  // the boxes are written down: every one is closed by itself, and none is settled
  int first_rounds = 20, further_rounds = 3;
  int large = 200'000;  // needs of a model in which local search begins in small parts
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

// The ways, and what is worked out from them once.
struct Aims {
  std::vector<Way> ways;
  std::vector<Rate> rates;

  explicit Aims(std::vector<Way> given) : ways(std::move(given)), rates(ways.size()) {}
  // So much more is needed of the one lead.
  void raise(std::int64_t more) {
    ways[0][0].need += more;
    ways[0][0].sure += more;
    if (!rates[0].lacks.empty()) rates[0].lacks[0].most -= more;
  }
};

// Bounds of boxes of a model, and what its leaves are worth in the way `loaded`, if all of them are.
struct BoxBounds {
  Factors factors;
  Messages messages;
  Messages::Worth worth;
  std::shared_ptr<const Aims> loaded;

  explicit BoxBounds(const Model& model) : factors(model), messages(factors) {
    worth.options.resize(z(model.n_leaves));
  }
};

class PriceSearch {
 public:
  enum class Ended { kDoubt, kDone, kStopped };
  // What a search keeps of a box, to go on from there.
  struct Kept {
    KeptMessages messages;
    std::vector<std::int64_t> weights;
  };

  // `upper`: rows of this price or more are of no interest. `near`: the row asked about. Without prices and with one
  // lead it may be one of many questions, which share `bounds`; it begins with `first`, where there is such a thing.
  PriceSearch(const Model& model, std::shared_ptr<Aims> aims, Prices prices, const Box& box,
              const std::vector<int>& near, std::int64_t upper, PriceRules rules,
              std::shared_ptr<BoxBounds> bounds = nullptr, const std::shared_ptr<const Kept>& first = nullptr);
  PriceSearch(const PriceSearch&) = delete;
  PriceSearch& operator=(const PriceSearch&) = delete;

  // Climbs from the rows to start from, without any bound; all of it is part of run(), too.
  Ended climb(Watch& watch);
  // Goes on until there is no cheaper row than the best one, or until rounding decides about a row: it is for the
  // caller to say whether that counts. `most`: options that may be looked at, -1 for no limit.
  Ended run(Watch& watch, std::int64_t most = -1);
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
  // After kDone, if boxes are written down, those of a way, in the order of a walk that goes down first. A parted one
  // is 0, column, cut, and comes before the box below the cut and that above it. A closed one is 1, how many weights,
  // those of the leads, the power of two that they are over, or -1 where prices do not count, and what Messages::record
  // writes.
  Messages::Record record(int way) const;
  const Factors* factors() const { return bounds_ ? &bounds_->factors : nullptr; }  // none if no box was looked into
  // Whether the bound of a single box says that no row of it is cheaper than the best one.
  bool closed_at_once() const { return nodes_ == 1 && entered_ && bounds_->messages.bound() < enough(); }
  i128 enough() const { return paid() - (upper_ - 1); }  // of the worth of a row that is

 private:
  struct Numbers;
  struct Node {
    std::int64_t bound = 0, number = 0;
    int way = 0;
    Box box;
    std::shared_ptr<const Kept> kept;
  };
  struct Later {
    bool operator()(const Node& a, const Node& b) const {
      return a.bound != b.bound ? a.bound > b.bound : a.number < b.number;
    }
  };

  void work(const Node& node, Watch& watch);
  int impossible(const Way& way) const;
  bool write_closed(const Node& node, Watch& watch);
  void write_simple(const Node& node, int why);
  void write(std::int64_t number, Messages::Record record);
  bool refused() const;
  void set_rate(int way);
  void load(const std::vector<int>* leaves);
  i128 paid() const;
  i128 lowest() const { return paid() - bounds_->messages.bound(); }
  std::int64_t bound() const;
  void adjust(int way);
  bool close(const Node& node, std::int64_t& bound, Watch& watch);
  bool offer(int way, const std::vector<int>& row, const std::vector<int>* leaves = nullptr);
  void take(int way, const std::vector<int>& row);
  bool try_from(int way, const std::vector<int>& start, Watch& watch);
  void branch(const Node& node, std::int64_t bound);

  const Model& model_;
  std::shared_ptr<Aims> aims_;
  Prices prices_;
  Box all_;
  PriceRules rules_;
  std::shared_ptr<BoxBounds> bounds_;  // made for the first box
  bool plain_;                         // one lead, and no prices: its weight is always the same
  const Rate* rate_ = nullptr;         // of the way at hand
  std::vector<std::int64_t> weights_;  // of its leads
  std::vector<double> factors_of_weights_;
  std::vector<int> turns_;  // which way a weight went last: -1, 0, 1
  std::vector<std::unique_ptr<Climb>> climbs_;
  std::vector<std::pair<int, std::vector<int>>> starts_;  // to climb from
  std::size_t kept_ = 0;                                  // numbers that the open nodes keep; outlives them
  std::priority_queue<Node, std::vector<Node>, Later> open_;
  std::int64_t upper_, lower_ = 0, nodes_ = 0, numbers_ = 0;
  std::int64_t parting_ = kNever;  // bound of a node that has left the queue, until its parts are there
  std::vector<int> best_, doubtful_, near_, row_;
  int way_ = -1, doubtful_way_ = -1;
  bool priced_ = false;                    // whether some cell costs anything
  bool entered_ = false;                   // whether the box looked into last has a row, for all that its limits say
  std::vector<Messages::Record> written_;  // by number of the box; of a parted one the numbers of its parts come last
  std::size_t n_written_ = 0;              // numbers
  std::vector<int> reached_;               // leaves of the row that was offered last
  std::set<std::vector<int>> refused_;     // see refused_leaves()
};

}  // namespace proofwood::votes
