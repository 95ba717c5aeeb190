// Sets of little weight that hit all given sets: depth-first, with sets that come in while it goes on.
//
// Theory: docs/theory/explanations.md, "What is built from questions"; docs/theory/layered-diagrams.md, "Oblique
// splits" (Florio, Martins, Schiffer, Serra, Vidal, AAAI 2023, ODD).
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "common/integers.hpp"
#include "common/watch.hpp"

namespace proofwood {

// One pass looks for hitting sets that weigh `most` at most. A branch that is closed for the sets known then stays
// closed when further ones are added, or less weight is permitted, so that one pass serves all of them.
// A MaxSAT or linear solver began anew with each set that came in, which took nearly all of the time:
// decisions/0039-hitting-sets-that-grow.
class HittingSets {
 public:
  enum class Ended { kFound, kNone, kStopped };

  explicit HittingSets(std::vector<i64> weights);  // of the elements, positive

  void add(const std::vector<int>& elements);
  void begin(i64 most);                    // a new pass
  void permit(i64 most) { most_ = most; }  // for the rest of the pass: less than before
  // Goes on until a set of the weight permitted hits all, or there is none. The next call goes on behind it: whoever
  // does not accept it adds a set that it misses.
  Ended run(Watch& watch);
  std::vector<int> chosen() const;
  i64 weight() const { return frames_[depth_ - 1].weight; }  // of these
  i64 nodes() const { return nodes_; }

 private:
  using Words = std::vector<u64>;
  struct Frame {
    Words unhit;                // sets that the elements chosen so far miss
    Words allowed;              // elements that may still be chosen
    std::vector<int> branches;  // elements of the set that is to be hit here
    std::size_t next = 0;       // among them
    int element = -1;           // chosen on the way here
    i64 weight = 0;             // of all that are chosen
    bool found = false;         // it hit all sets when it was looked at last
  };

  void take_in();
  bool open(Frame& frame);
  bool too_dear(Frame& frame, i64 budget);
  bool too_many(const Frame& frame, i64 budget);
  void choose_branches(Frame& frame, std::size_t least);
  void descend();

  std::vector<i64> weights_;
  std::size_t n_elements_;
  i64 most_ = 0;
  std::vector<Words> sets_;  // by elements
  std::vector<Words> hits_;  // per element the sets that it hits
  std::vector<Frame> frames_;
  std::size_t depth_ = 0;  // frames in use
  std::size_t known_ = 0;  // sets that the frames know
  bool looked_ = false;    // the last frame has its branches
  i64 nodes_ = 0;
  std::vector<i64> left_;                             // of the weights of elements, beside a packing
  std::vector<int> degree_;                           // of elements in the sets of a frame
  std::vector<std::pair<double, std::size_t>> best_;  // elements by that, for their weight
  std::vector<std::vector<int>> bucket_;              // sets of a frame by their number of elements
};

}  // namespace proofwood
