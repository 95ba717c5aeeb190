// Sets of few elements that hit all given sets: depth-first, with sets that come in while it goes on.
//
// Theory: docs/theory/explanations.md, "What is built from questions".
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/watch.hpp"

namespace proofwood::votes {

// One pass looks for hitting sets of at most `size` elements. A branch that is closed for the sets known then stays
// closed when further ones are added, so that one pass serves all of them.
// A MaxSAT or linear solver began anew with each set that came in, which took nearly all of the time:
// decisions/0039-hitting-sets-that-grow.
class HittingSets {
 public:
  enum class Ended { kFound, kNone, kStopped };

  explicit HittingSets(int n_elements);

  void add(const std::vector<int>& elements);
  void begin(int size);  // a new pass
  // Goes on until a set of `size` elements at most hits all, or there is none. The next call goes on behind it: whoever
  // does not accept it adds a set that it misses.
  Ended run(Watch& watch);
  std::vector<int> chosen() const;
  std::int64_t nodes() const { return nodes_; }

 private:
  using Words = std::vector<std::uint64_t>;
  struct Frame {
    Words unhit;                // sets that the elements chosen so far miss
    Words allowed;              // elements that may still be chosen
    std::vector<int> branches;  // elements of the set that is to be hit here
    std::size_t next = 0;       // among them
    int element = -1;           // chosen on the way here
    bool found = false;         // it hit all sets when it was looked at last
  };

  void take_in();
  bool open(Frame& frame);
  bool too_many(const Frame& frame, std::size_t budget);
  bool too_many_by_weight(const Frame& frame, std::size_t budget);
  void descend();

  std::size_t n_elements_, size_ = 0;
  std::vector<Words> sets_;  // by elements
  std::vector<Words> hits_;  // per element the sets that it hits
  std::vector<Frame> frames_;
  std::size_t depth_ = 0;  // frames in use
  std::size_t known_ = 0;  // sets that the frames know
  bool looked_ = false;    // the last frame has its branches
  std::int64_t nodes_ = 0;
  std::vector<int> degree_;               // of elements in the sets of a frame
  std::vector<double> pull_;              // the same, by weight
  std::vector<std::vector<int>> bucket_;  // sets of a frame by their number of elements
};

}  // namespace proofwood::votes
