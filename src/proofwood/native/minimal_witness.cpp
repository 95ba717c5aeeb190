#include "minimal.hpp"

namespace proofwood::minimal {
void search_witness(const Rows& rows, Board& board) { search_slack(rows, board); }
}  // namespace proofwood::minimal
