// Runs a search on a thread of its own while the calling thread polls the clock, Ctrl-C and the progress callback.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace proofwood {

enum Stop { kRunning = 0, kTime = 1, kInterrupt = 2, kError = 3 };

// `work` runs without the GIL on a new thread and must return soon after `stop` becomes other than kRunning.
// `report`, if given, is called about every 50 ms from the calling thread, with the GIL, with the seconds so far; it may
// call into Python. A KeyboardInterrupt, raised by the signal or by `report`, sets kInterrupt and is swallowed; any
// other Python error ends the work and is raised from here, as is an exception of `work`.
inline double run_watched(const std::function<void()>& work, std::atomic<int>& stop, std::optional<double> seconds,
                          const std::function<void(double)>& report) {
  namespace nb = nanobind;
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - started).count(); };
  std::mutex mutex;
  std::condition_variable done;
  bool finished = false;
  std::exception_ptr failure;

  std::thread runner([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    finished = true;
    done.notify_all();
  });

  std::exception_ptr raised;
  {
    const nb::gil_scoped_release release;
    std::unique_lock lock(mutex);
    while (!finished) {
      auto until = Clock::now() + std::chrono::milliseconds(50);
      if (seconds) until = std::min(until, started + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds)));
      done.wait_until(lock, until, [&] { return finished; });
      if (finished) break;
      if (seconds && elapsed() >= *seconds && stop.load() == kRunning) stop = kTime;
      if (stop.load() != kRunning) {  // the workers are on their way out
        done.wait_for(lock, std::chrono::milliseconds(20), [&] { return finished; });
      }
      lock.unlock();
      if (!raised) {
        const nb::gil_scoped_acquire acquire;
        try {
          if (PyErr_CheckSignals() != 0) nb::raise_python_error();
          if (report) report(elapsed());
        } catch (nb::python_error& error) {
          if (error.matches(PyExc_KeyboardInterrupt)) {
            stop = kInterrupt;
          } else {
            stop = kError;
            raised = std::current_exception();
          }
        }
      }
      lock.lock();
    }
    lock.unlock();
    runner.join();
  }
  if (raised) std::rethrow_exception(raised);
  if (failure) std::rethrow_exception(failure);
  return elapsed();
}

}  // namespace proofwood
