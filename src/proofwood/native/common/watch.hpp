// When a native loop has to end: a stop flag that another thread sets, or its own question about every millisecond.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>

namespace proofwood {

class Watch {
 public:
  Watch() = default;  // never over
  explicit Watch(const std::atomic<int>& stop) : stop_(&stop) {}
  explicit Watch(std::function<bool()> ask) : ask_(std::move(ask)) {}

  // Cheap enough for every pass of a loop; once true it stays true.
  bool over() {
    if (over_) return true;
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed) != 0) return over_ = true;
    if (!ask_) return false;
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(1);
    return over_ = ask_();
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::atomic<int>* stop_ = nullptr;
  std::function<bool()> ask_;
  Clock::time_point next_{};
  bool over_ = false;
};

}  // namespace proofwood
