// The settings that Python hands to a native function: read by name and type, each in its range, none unknown.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

namespace proofwood {

class SettingsReader {
 public:
  explicit SettingsReader(const nanobind::dict& given) : given_(given) {}

  bool has(const char* name) const { return given_.contains(name); }

  // The value of a setting that must be there, from `least` to `most`.
  template <typename T>
  T need(const char* name, T least = std::numeric_limits<T>::lowest(), T most = std::numeric_limits<T>::max()) {
    if (!has(name)) throw std::invalid_argument("the setting " + quoted(name) + " is missing");
    const T value = cast<T>(name);
    if (!(value >= least && value <= most))
      throw std::invalid_argument("the setting " + quoted(name) + " is " + shown(name) + ", expected " +
                                  std::to_string(least) + " to " + std::to_string(most));
    return value;
  }

  // The same, or `fallback` if it is not given.
  template <typename T>
  T get(const char* name, T fallback, T least = std::numeric_limits<T>::lowest(),
        T most = std::numeric_limits<T>::max()) {
    read_.insert(name);
    return has(name) ? need<T>(name, least, most) : fallback;
  }

  template <typename T>
  std::vector<T> list(const char* name) {
    if (!has(name)) throw std::invalid_argument("the setting " + quoted(name) + " is missing");
    return cast<std::vector<T>>(name);
  }

  // To be called when all is read: refuses what was not asked for.
  void finish() const {
    for (const auto [key, value] : given_) {
      const std::string name = nanobind::cast<std::string>(nanobind::str(key));
      if (!read_.contains(name)) throw std::invalid_argument("the setting " + quoted(name) + " is not known");
    }
  }

 private:
  template <typename T>
  T cast(const char* name) {
    read_.insert(name);
    T value{};
    if (!nanobind::try_cast<T>(given_[name], value))
      throw std::invalid_argument("the setting " + quoted(name) + " is " + shown(name) +
                                  ": of another type, or beyond its range");
    return value;
  }

  std::string shown(const char* name) const { return nanobind::cast<std::string>(nanobind::repr(given_[name])); }
  static std::string quoted(const std::string& name) { return "'" + name + "'"; }

  nanobind::dict given_;
  std::set<std::string> read_;
};

}  // namespace proofwood
