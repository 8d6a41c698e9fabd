#include "encodings/cell/cell_rules.h"

#include <fmt/format.h>

#include <algorithm>

#include "encodings/cell/cell.h"

namespace detol::inline encoding {
namespace {

using Slot = CellLayout::Slot;
using Codes = std::span<const double>;

std::size_t input_of(const Slot& slot, Codes codes) {
  return slot.input_code ? static_cast<std::size_t>(codes[*slot.input_code]) : slot.input;
}

class CellRules final : public ArchitectureRules {
 public:
  explicit CellRules(CellLayout layout) : layout_(std::move(layout)) {}

  std::string violation(Codes codes) const override {
    for (const CellLayout::Cell& cell : layout_.cells) {
      for (std::size_t node = 0; node < cell.nodes.size(); ++node) {
        if (const Slot* twin = twin_in(cell.nodes[node], codes)) {
          return fmt::format("architecture.{}.node[{}]: it takes {} twice", cell.name, node,
                             tensor_word(input_of(*twin, codes)));
        }
      }
      if (is_dead(cell, codes))
        return fmt::format("architecture.{}: nothing reaches its output", cell.name);
    }
    return "";
  }

  void repair(std::span<double> codes, Rng& rng) const override {
    for (const CellLayout::Cell& cell : layout_.cells) {
      for (std::size_t node = 0; node < cell.nodes.size(); ++node) {
        while (const Slot* twin = twin_in(cell.nodes[node], codes))
          move(*twin, cell.nodes[node], kCellInputs + node, codes, rng);
      }
      if (is_dead(cell, codes)) revive(cell, codes, rng);
    }
  }

  std::vector<bool> expressed(Codes codes) const override {
    std::vector<bool> counts(codes.size(), true);
    for (const CellLayout::Cell& cell : layout_.cells) {
      for (const auto& slots : cell.nodes) {
        for (const Slot& slot : slots) {
          if (slot.input_code && !is_used(slot, codes)) counts[*slot.input_code] = false;
        }
      }
    }
    return counts;
  }

 private:
  bool is_used(const Slot& slot, Codes codes) const {
    return !layout_.none || codes[slot.operation_code] != static_cast<double>(*layout_.none);
  }

  // Returns a slot with the same input as an earlier one of its node, or nullptr.
  const Slot* twin_in(const std::vector<Slot>& slots, Codes codes) const {
    for (const Slot& slot : slots) {
      for (const Slot* before = slots.data(); before != &slot; ++before) {
        if (is_used(slot, codes) && is_used(*before, codes) &&
            input_of(slot, codes) == input_of(*before, codes))
          return &slot;
      }
    }
    return nullptr;
  }

  // Gives the slot an input below `tensors` that no slot of its node uses.
  void move(const Slot& slot, const std::vector<Slot>& slots, std::size_t tensors,
            std::span<double> codes, Rng& rng) const {
    std::vector<bool> taken(tensors);
    for (const Slot& other : slots) {
      if (is_used(other, codes)) taken[input_of(other, codes)] = true;
    }
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < tensors; ++i) {
      if (!taken[i]) free.push_back(i);
    }
    codes[*slot.input_code] = static_cast<double>(free[rng.below(free.size())]);
  }

  // Marks the tensors of the cell, its inputs first, that depend on its inputs.
  std::vector<bool> live_tensors(const CellLayout::Cell& cell, Codes codes) const {
    std::vector<bool> live(kCellInputs, true);
    for (const auto& slots : cell.nodes) {
      live.push_back(std::ranges::any_of(slots, [&](const Slot& slot) {
        return is_used(slot, codes) && live[input_of(slot, codes)];
      }));
    }
    return live;
  }

  bool is_dead(const CellLayout::Cell& cell, Codes codes) const {
    const std::vector<bool> live = live_tensors(cell, codes);
    return std::find(live.begin() + kCellInputs, live.end(), true) == live.end();
  }

  // Gives a slot of node 0, which takes the cell's own inputs, an operation other than `none`.
  // REQUIRES: all slots of node 0 have `none`.
  void revive(const CellLayout::Cell& cell, std::span<double> codes, Rng& rng) const {
    const std::vector<Slot>& slots = cell.nodes.front();
    const std::size_t drawn = rng.below(layout_.operations - 1);
    const std::size_t operation = drawn < *layout_.none ? drawn : drawn + 1;
    codes[slots[rng.below(slots.size())].operation_code] = static_cast<double>(operation);
  }

  CellLayout layout_;
};

}  // namespace

void CellLayout::add_slot(const std::string& cell, std::size_t node, std::size_t slot,
                          bool has_input_code) {
  if (cells.empty() || cells.back().name != cell) cells.push_back({cell, {}});
  auto& nodes = cells.back().nodes;
  nodes.resize(node + 1);
  Slot added{.input_code = {}, .input = slot, .operation_code = 0};
  if (has_input_code) added.input_code = codes++;
  added.operation_code = codes++;
  nodes[node].push_back(added);
}

std::shared_ptr<const ArchitectureRules> cell_rules(CellLayout layout) {
  return std::make_shared<const CellRules>(std::move(layout));
}

}  // namespace detol::inline encoding
