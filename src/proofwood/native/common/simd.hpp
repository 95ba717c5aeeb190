// Instruction sets of the kernels: which of them this machine runs, and which one is taken.
#pragma once

#include <string>
#include <vector>

namespace proofwood {

// Ordered: each has all that those before it have.
enum Isa : int { kAuto = 0, kBaseline = 1, kAvx2 = 2, kAvx512 = 3 };

constexpr const char* kSimdVariable = "PROOFWOOD_SIMD";

const char* isa_name(int isa);
bool runs(int isa);
std::vector<std::string> instruction_sets();  // of this machine

// The instruction set to use where `asked` is wanted: kAuto is the one that the environment variable names, or else the
// best of this machine. Throws std::invalid_argument for a name that is unknown and a set that this machine lacks.
// Call it where the interpreter is locked: another Python thread might write the environment.
int chosen_isa(int asked);

}  // namespace proofwood
