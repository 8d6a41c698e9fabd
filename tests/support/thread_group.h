#pragma once

// A Group whose ranks are threads of this process.

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "trainer/collectives/group.h"

namespace detol::testing_support {

// Table: one address per rank, which all ranks may read between two barriers.
class Table {
 public:
  explicit Table(int size) : meeting_(size), shown_(static_cast<std::size_t>(size)) {}

  // Publishes `own`, calls `read` with the addresses of all ranks, and returns when all have read.
  void meet(int rank, const void* own,
            const std::function<void(std::span<const void* const>)>& read) {
    shown_[static_cast<std::size_t>(rank)] = own;
    meeting_.arrive_and_wait();
    read(shown_);
    meeting_.arrive_and_wait();
  }
  int size() const { return static_cast<int>(shown_.size()); }

 private:
  std::barrier<> meeting_;
  std::vector<const void*> shown_;
};

class ThreadGroup final : public Group {
 public:
  ThreadGroup(Table& table, int rank) : table_(table), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return table_.size(); }
  void sum(std::span<float> values) override { add_up(values); }
  void sum(std::span<double> values) override { add_up(values); }
  void sum(std::span<Half> values) override {
    std::vector<Half> all(values.size() * static_cast<std::size_t>(size()));
    gather(std::as_bytes(values), std::as_writable_bytes(std::span(all)));
    add_halves(all, static_cast<std::size_t>(size()), values);
  }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    table_.meet(rank_, own.data(), [&](std::span<const void* const> shown) {
      for (std::size_t i = 0; i < shown.size(); ++i)
        std::copy_n(static_cast<const std::byte*>(shown[i]), own.size(),
                    all.data() + i * own.size());
    });
  }
  std::string share(std::string bytes, int from) override {
    std::string shared;
    table_.meet(rank_, &bytes, [&](std::span<const void* const> shown) {
      shared = *static_cast<const std::string*>(shown[static_cast<std::size_t>(from)]);
    });
    return shared;
  }

 private:
  template <typename Real>
  void add_up(std::span<Real> values) {
    std::vector<Real> sums(values.size());
    table_.meet(rank_, values.data(), [&](std::span<const void* const> shown) {
      for (const void* others : shown) {
        for (std::size_t i = 0; i < sums.size(); ++i)
          sums[i] += static_cast<const Real*>(others)[i];
      }
    });
    std::copy(sums.begin(), sums.end(), values.begin());
  }

  Table& table_;
  const int rank_;
};

// Runs `body` once per rank, side by side.
inline void on_ranks(int size, const std::function<void(Group&)>& body) {
  Table table(size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&table, &body, rank] {
      ThreadGroup group(table, rank);
      body(group);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace detol::testing_support
