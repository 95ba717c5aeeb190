// What a task whose costs follow from sums over the rows of a leaf has to say (docs/theory/optimal-trees.md, "Tasks").
//
//   cost of a leaf = own - saved      own: what its rows cost by themselves, a sum; saved: a function of few sums
//
// All sums are whole numbers below 2^53, held in doubles: they are exact in any order, on every instruction set. Only
// `saved` is rounded; where that leaves the cost in units open, `costs_at_least` decides with integers.
#pragma once

#include <concepts>
#include <type_traits>

#include "common/double_double.hpp"
#include "common/wide.hpp"

// Parts of the kernels: instances belong to one translation unit, which may be compiled for another instruction set.
#define PROOFWOOD_PART [[gnu::always_inline]] static inline

namespace proofwood::trees {

// A unit of cost is 2^shift.
struct Unit {
  int shift = 0;
};

// Sums of one leaf, or of both leaves of a split.
struct LeafSums {
  const i64* low;
  const i64* high;  // null: of one leaf
};

// A quotient of whole numbers that are not negative.
struct Quotient {
  Wide over;
  u64 under[2];  // factors
};

// Whether own - quotient is at least so many units.
inline bool at_least(i128 own, const Quotient& quotient, Unit unit, i64 units) {
  const auto whole = [&](u128 value) { return Wide(value).times(quotient.under[0]).times(quotient.under[1]); };
  const Wide left = whole(static_cast<u128>(own)), right = whole(static_cast<u128>(units));
  if (unit.shift < 0) return !(left.times_two_to(-unit.shift) < quotient.over.times_two_to(-unit.shift).plus(right));
  return !(left < quotient.over.plus(right.times_two_to(unit.shift)));
}

// From where the rows of a set are counted, so that own and saved are small: as whole numbers, and as a rate.
struct Zero {
  i64 centre = 0;
  double rate = 1;
  DoubleDouble log_rate{};  // its logarithm, where a task needs it
};

template <class T>
concept SumTask =
    requires(const double* sums, const typename T::template Best<double>& best, i64 weight, const i64* targets, i64* to,
             const T& task, const LeafSums& leaves, i128 own, Unit unit, const Zero& zero) {
      { T::kTargets } -> std::convertible_to<int>;  // numbers of a row, times its weight
      { T::kPaddedByFirst } -> std::convertible_to<bool>;
      { T::kSums } -> std::convertible_to<int>;
      { T::kParts } -> std::convertible_to<int>;         // doubles by which splits are compared
      { T::kExact } -> std::convertible_to<bool>;        // costs are integers, and nothing is rounded
      { T::kOwn } -> std::convertible_to<bool>;          // rows have costs of their own
      { T::kWeightFirst } -> std::convertible_to<bool>;  // the first sum is the weight
      { T::sums(weight, targets, to) } -> std::same_as<void>;
      { T::own(weight, targets) } -> std::same_as<i128>;
      { task.reach(weight, targets) } -> std::same_as<double>;  // what one more row costs a tree at most, by doubles
      { T::zero(to) } -> std::same_as<Zero>;                    // of rows of these sums
      // What rows of these sums cost by themselves from there, and by how much that less `saved` may be off.
      { T::whole(own, sums, zero) } -> std::same_as<double>;
      { T::error(0.0, sums, zero) } -> std::same_as<double>;
      { T::leaf(sums, 1.0) } -> std::same_as<typename T::template Best<double>>;
      { T::split(sums, sums, 1.0) } -> std::same_as<typename T::template Best<double>>;
      { T::none() } -> std::same_as<typename T::template Best<double>>;  // saves less than all others
      { T::more(best, best) } -> std::convertible_to<bool>;              // whether the first one saves more
      { T::saved(best) } -> std::same_as<double>;
      T::prediction(sums);                                   // numbers that a leaf predicts
      { T::loss(0.0, sums, sums) } -> std::same_as<double>;  // of a row of this own cost, by such numbers; rounded
      { T::costs_at_least(own, leaves, unit, weight) } -> std::same_as<bool>;  // so many units, exactly
    };

// Lanes in which a split may save more than the best one: those in which the first number is more than the second.
template <class V>
struct Doubt {
  V left, right;
};

// A task whose splits have a cheap upper bound of what they save, which spares most of them the logarithms.
template <class T>
concept CheaplyBounded = requires(const double* sums, const typename T::template Limit<double>& limit) {
  requires T::kParts == 1;
  { T::comparable(sums, sums) } -> std::same_as<bool>;
  // What a split has to save, by the sums of a side, what a leaf saves there, and what the best split does.
  { T::limit(sums, 0.0, 0.0, 1.0) } -> std::same_as<typename T::template Limit<double>>;
  { T::doubt(limit, sums, sums) } -> std::same_as<Doubt<double>>;
  { T::close_doubts(limit, sums, sums)[0] } -> std::convertible_to<Doubt<double>>;  // all of them, for fewer lanes
};

// A task whose sums are taken from the centre of its zero.
template <class T>
concept Centred = requires(i64* to, double* rounded, i128 own, i64 centre) {
  { T::recentre(to, centre) } -> std::same_as<void>;  // the sums of some rows
  { T::recentre(rounded, 0.0) } -> std::same_as<void>;
  { T::own_from(own, to, centre) } -> std::same_as<i128>;
};

}  // namespace proofwood::trees
