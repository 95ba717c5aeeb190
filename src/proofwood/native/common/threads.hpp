// Threads that always join, and whose exceptions reach the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "common/memory.hpp"

namespace proofwood {

// Lets the C library make what it makes for a thread at first use, such as the store of its exceptions, while there is
// memory for it: it would end the process otherwise. False if there is none; the thread must then do nothing.
inline bool thread_is_ready() {
  constexpr std::size_t kEnough = 1 << 16;
  void* const room = std::malloc(kEnough);
  if (room == nullptr) return false;
  static_cast<volatile char*>(room)[0] = 1;
  std::free(room);
  [[maybe_unused]] volatile int used = std::uncaught_exceptions();  // volatile: the call must not be left out
  (void)memory_ceiling();
  return true;
}

// Joins on every way out: a std::thread that is still joinable when it is destroyed would end the process.
class JoiningThreads {
 public:
  JoiningThreads() = default;
  JoiningThreads(const JoiningThreads&) = delete;
  JoiningThreads& operator=(const JoiningThreads&) = delete;
  ~JoiningThreads() { join(); }

  // False if the system has no thread, or no memory for one, to give.
  template <class Work>
  bool start(Work&& work) {
    try {
      threads_.reserve(threads_.size() + 1);
      threads_.emplace_back(std::forward<Work>(work));
      return true;
    } catch (const std::system_error&) {
      return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }
  void join() {
    for (auto& thread : threads_)
      if (thread.joinable()) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

// Runs work(0), ..., work(n - 1) side by side, work(0) in the calling thread. The work must be such that fewer workers
// do it as well: if the system gives no more threads, those that run do it all. The first exception is rethrown here,
// once all have joined; `on_failure` is called before, to stop the others.
template <class Work, class OnFailure>
void run_workers(int n, const Work& work, const OnFailure& on_failure) {
  std::mutex mutex;
  std::exception_ptr failure;
  const auto guarded = [&](int worker) noexcept {
    try {
      work(worker);
    } catch (...) {
      {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
      }
      on_failure();
    }
  };
  {
    JoiningThreads threads;
    for (int worker = 1; worker < n; ++worker)
      if (!threads.start([&guarded, worker] {
            if (thread_is_ready()) guarded(worker);
          }))
        break;
    guarded(0);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace proofwood
