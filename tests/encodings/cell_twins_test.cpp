// Builds all 15,625 cells of NAS-Bench-201 and checks that their canonical hashes are equal exactly
// where their expressions, which need no network, are equal.

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/network/canonical.h"
#include "encodings/study/encodings.h"

namespace detol {
namespace {

using Edges = std::array<std::string, 6>;

const std::vector<std::string> kOperations = {"none", "skip_connect", "nor_conv_1x1",
                                              "nor_conv_3x3", "avg_pool_3x3"};

Edges edges_of(int index) {
  Edges edges;
  for (std::string& edge : edges) {
    edge = kOperations[static_cast<std::size_t>(index % 5)];
    index /= 5;
  }
  return edges;
}

// The cell as an expression: "nor_conv_1x1(x)", "[avg_pool_3x3(x),x]" for a sum. A tensor that is
// read more than once is written as #0, #1 and defined at the end.
class Expression {
 public:
  explicit Expression(const Edges& edges) {
    std::vector<std::optional<int>> nodes = {0};
    for (std::size_t edge = 0; edge < edges.size();) {
      std::vector<int> parts;
      for (std::size_t from = 0, before = nodes.size(); from < before; ++from) {
        const std::string& operation = edges[edge++];
        if (operation == "none" || !nodes[from]) continue;
        const bool is_skip = operation == "skip_connect";
        parts.push_back(is_skip ? *nodes[from] : add({operation, {*nodes[from]}}));
      }
      nodes.push_back(parts.empty()       ? std::optional<int>()
                      : parts.size() == 1 ? parts.front()
                                          : add({"", parts}));
    }
    output_ = nodes.back();
  }

  // Returns the smallest over all numberings of shared tensors; empty if nothing reaches the
  // output.
  std::string text() {
    if (!output_) return "";
    std::map<int, int> readers;
    count_readers(*output_, readers);
    std::vector<int> shared;
    for (const auto& [tensor, count] : readers) {
      if (tensor != 0 && count > 1) shared.push_back(tensor);
    }
    std::string smallest;
    do {
      std::string expression = written(*output_, shared);
      for (int tensor : shared) expression += ";" + body(tensor, shared);
      if (smallest.empty() || expression < smallest) smallest = expression;
    } while (std::ranges::next_permutation(shared).found);
    return smallest;
  }

 private:
  struct Tensor {
    std::string operation;  // empty: a sum
    std::vector<int> from;
  };

  int add(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return static_cast<int>(tensors_.size()) - 1;
  }

  void count_readers(int tensor, std::map<int, int>& readers) {
    if (readers[tensor]++ > 0) return;
    for (int from : tensors_[static_cast<std::size_t>(tensor)].from) count_readers(from, readers);
  }

  std::string written(int tensor, const std::vector<int>& shared) {
    const auto at = std::ranges::find(shared, tensor);
    return at == shared.end() ? body(tensor, shared) : "#" + std::to_string(at - shared.begin());
  }

  std::string body(int tensor, const std::vector<int>& shared) {
    if (tensor == 0) return "x";
    const Tensor& made = tensors_[static_cast<std::size_t>(tensor)];
    std::vector<std::string> parts;
    for (int from : made.from) parts.push_back(written(from, shared));
    std::ranges::sort(parts);
    std::string text;
    for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
    return made.operation.empty() ? "[" + text + "]" : made.operation + "(" + text + ")";
  }

  std::vector<Tensor> tensors_ = {{"x", {}}};
  std::optional<int> output_;
};

// 341 cells have no path from input to output; the others are 6,333 networks. (The benchmark counts
// 6,466, because it counts a sum with and without a cut-off term as two.)
TEST(EdgeCells, ThatAreTheSameNetworkHaveTheSameHashAndNoOthers) {
  const EncodingRow& row = *find_row(encodings(), "cell");
  const Task task{{1, 4, 4}, 2};
  nlohmann::json architecture = {
      {"cell", {{"nodes", 4}, {"edges", "op_on_edge"}}},
      {"macro", {{"stages", 1}, {"cells_per_stage", 1}, {"channels", 2}}}};
  std::map<std::string, std::uint64_t> hash_of;
  std::set<std::uint64_t> hashes;
  int refused = 0;
  for (int index = 0; index < 15'625; ++index) {
    const Edges edges = edges_of(index);
    architecture["cell"]["edge"] = edges;
    const std::string expression = Expression(edges).text();
    const Result<Network> network = row.decode(architecture, task);
    ASSERT_EQ(network.has_value(), !expression.empty()) << row.key(architecture);
    if (!network) {
      ++refused;
      continue;
    }
    const std::uint64_t hash = canonical_hash(*network);
    hashes.insert(hash);
    const auto first = hash_of.try_emplace(expression, hash).first;
    ASSERT_EQ(first->second, hash) << row.key(architecture);
  }
  EXPECT_EQ(refused, 341);
  EXPECT_EQ(hash_of.size(), 6'333u);
  EXPECT_EQ(hashes.size(), 6'333u);
}

}  // namespace
}  // namespace detol
