#include "tests/support/cuda/fibers.h"

#include <sys/mman.h>

#include <array>
#include <bit>
#include <cstdlib>
#include <memory>
#include <vector>

#include <cuda_runtime.h>

#include "tests/support/cuda/switching.h"

constinit thread_local uint3 threadIdx{};
constinit thread_local uint3 blockIdx{};
constinit thread_local dim3 blockDim{};
constinit thread_local dim3 gridDim{};

namespace detol::emulated {
namespace {

constexpr std::size_t kStackBytes = 128 * 1024;
constexpr unsigned kMostThreads = 1024;

struct Fiber {
  Stack stack;
  unsigned thread = 0;  // the thread that runs, or waits, on it
};

enum class Exchange : std::uint8_t { kNone, kValue, kBallot };

// Lane: the value that a waiting lane gave to its warp, and the result that it gets.
struct Lane {
  std::uint64_t value = 0, result = 0;
  unsigned mask = 0, source = 0;
  Exchange kind = Exchange::kNone;
};

struct Warp {
  std::array<Lane, kWarp> lanes;
  std::array<Fiber*, kWarp> fibers{};
  unsigned waiting = 0;  // lanes
};

void run_threads();

// Block: the block that a host thread runs, and all stacks that it ever needed.
class Block {
 public:
  const char* run(const BlockRun& block) {
    block_ = block;
    count_ = block.extent.all();
    next_ = ended_ = 0;
    fault_ = nullptr;
    for (unsigned i = 0; i * kWarp < count_; ++i) warps_[i].waiting = 0;
    resume(idle());
    if (ended_ < count_ && fault_ == nullptr)
      fault_ = "threads wait for one that has ended, or that waits for something else";
    if (fault_ != nullptr) forget_who_waits();
    return fault_;
  }

  // Runs on a fiber: runs the threads that have not started yet, then switches to a ready one.
  void run_what_is_left() {
    while (next_ < count_) {
      running_->thread = block_.is_reversed ? count_ - 1 - next_ : next_;
      ++next_;
      show_index();
      block_.body(block_.context);
      ++ended_;
      if (!at_barrier_.empty() && at_barrier_.size() + ended_ == count_) release_barrier();
    }
    idle_.push_back(running_);
    go_on();
  }

  void wait_for_block() {
    at_barrier_.push_back(running_);
    if (at_barrier_.size() + ended_ < count_) return go_on();
    at_barrier_.pop_back();
    release_barrier();
  }

  std::uint64_t exchange(Exchange kind, unsigned mask, std::uint64_t value, unsigned source) {
    Warp& warp = warps_[running_->thread / kWarp];
    const unsigned own = running_->thread % kWarp;
    Lane& lane = warp.lanes[own];
    lane = {value, 0, mask, source, kind};
    if ((mask >> own & 1) == 0 || (kind == Exchange::kValue && (mask >> source & 1) == 0))
      fail("a lane that is not in its own mask, or asks one that is not");
    warp.fibers[own] = running_;
    warp.waiting |= 1U << own;
    if ((warp.waiting & mask) == mask)
      complete(warp, lane, own);
    else
      go_on();
    return lane.result;
  }

  unsigned thread() const { return running_->thread; }

 private:
  void show_index() const {
    const unsigned at = running_->thread;
    threadIdx = {at % block_.extent.x, at / block_.extent.x % block_.extent.y,
                 at / block_.extent.x / block_.extent.y};
  }

  // Ends an exchange: all lanes of the mask have arrived.
  void complete(Warp& warp, const Lane& last, unsigned own) {
    std::uint64_t votes = 0;
    for (unsigned left = last.mask; left != 0; left &= left - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(left));
      const Lane& lane = warp.lanes[i];
      if (lane.mask != last.mask || lane.kind != last.kind)
        fail("lanes of one warp make different calls");
      votes |= static_cast<std::uint64_t>(lane.value != 0) << i;
    }
    for (unsigned left = last.mask; left != 0; left &= left - 1) {
      const auto i = static_cast<unsigned>(std::countr_zero(left));
      Lane& lane = warp.lanes[i];
      lane.result = lane.kind == Exchange::kBallot ? votes : warp.lanes[lane.source].value;
      if (i != own) ready_.push_back(warp.fibers[i]);
    }
    warp.waiting &= ~last.mask;
  }

  void release_barrier() {
    ready_.insert(ready_.end(), at_barrier_.begin(), at_barrier_.end());
    at_barrier_.clear();
  }

  // Switches to a ready fiber, to an idle one if threads are left, or to the caller of run().
  void go_on() {
    Fiber* const left = running_;
    if (first_ready_ < ready_.size()) {
      Fiber* const to = ready_[first_ready_++];
      if (first_ready_ == ready_.size()) ready_.clear(), first_ready_ = 0;
      switch_to(*left, *to);
    } else if (next_ < count_) {
      switch_to(*left, idle());
    } else {
      switch_stacks(left->stack, caller_);
    }
    show_index();
  }

  void switch_to(Fiber& from, Fiber& to) {
    running_ = &to;
    if (&from != &to) switch_stacks(from.stack, to.stack);
  }

  void resume(Fiber& fiber) {
    running_ = &fiber;
    switch_stacks(caller_, fiber.stack);
  }

  // Abandons the kernel, and every stack that a thread of it waits on.
  void fail(const char* what) {
    fault_ = what;
    switch_stacks(running_->stack, caller_);
    std::abort();  // no switch leads back here
  }

  void forget_who_waits() {
    ready_.clear();
    first_ready_ = 0;
    at_barrier_.clear();
    idle_.clear();
    for (const auto& held : fibers_) {
      prepare(held->fiber.stack, held->memory, kStackBytes, run_threads);
      idle_.push_back(&held->fiber);
    }
  }

  struct Held {
    Held()
        : memory(mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
      if (memory == MAP_FAILED) std::abort();
      mprotect(memory, 4096, PROT_NONE);  // a stack overflow faults
      prepare(fiber.stack, memory, kStackBytes, run_threads);
    }
    ~Held() { munmap(memory, kStackBytes); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

    void* memory;
    Fiber fiber;
  };

  Fiber& idle() {
    if (idle_.empty()) {
      fibers_.push_back(std::make_unique<Held>());
      return fibers_.back()->fiber;
    }
    Fiber* const fiber = idle_.back();
    idle_.pop_back();
    return *fiber;
  }

  BlockRun block_;
  unsigned count_ = 0, next_ = 0, ended_ = 0;
  const char* fault_ = nullptr;

  Stack caller_;
  Fiber* running_ = nullptr;
  std::array<Warp, kMostThreads / kWarp> warps_;
  std::vector<Fiber*> ready_, at_barrier_, idle_;
  std::size_t first_ready_ = 0;
  std::vector<std::unique_ptr<Held>> fibers_;
};

Block& this_block() {
  static thread_local Block block;
  return block;
}

void run_threads() {
  for (;;) this_block().run_what_is_left();
}

}  // namespace

const char* run_block(const BlockRun& block) {
  return this_block().run(block);
}

void wait_for_block() {
  this_block().wait_for_block();
}

std::uint64_t exchange(unsigned mask, std::uint64_t value, unsigned source) {
  return this_block().exchange(Exchange::kValue, mask, value, source);
}

unsigned ballot(unsigned mask, bool value) {
  return static_cast<unsigned>(this_block().exchange(Exchange::kBallot, mask, value, 0));
}

unsigned lane() {
  return this_block().thread() % kWarp;
}

}  // namespace detol::emulated
