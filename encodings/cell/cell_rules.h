#pragma once

// The rules between the choices of cells with operations on nodes:
//
//   - the inputs of a node are different, except those with operation `none`, which are unused;
//   - a cell has at least one node that depends on its inputs. So every cell has an output,
//     whatever the cells before it are.
//
// Private to this folder.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "encodings/space/architecture_rules.h"

namespace detol::inline encoding {

// CellLayout stores the positions of each cell's choices among the codes.
struct CellLayout {
  struct Slot {
    std::optional<std::size_t> input_code;  // nullopt: the node takes every tensor before it
    std::size_t input = 0;                  // the tensor, where it is no choice
    std::size_t operation_code = 0;
  };
  struct Cell {
    std::string name;                      // normal, reduction
    std::vector<std::vector<Slot>> nodes;  // the slots of each node
  };

  std::size_t operations = 0;       // how many there are to choose from
  std::optional<std::size_t> none;  // the code of `none`, if it is among them
  std::vector<Cell> cells;
  std::size_t codes = 0;

  // Appends the choices of a slot: its input if `has_input_code`, then its operation.
  void add_slot(const std::string& cell, std::size_t node, std::size_t slot, bool has_input_code);
};

std::shared_ptr<const ArchitectureRules> cell_rules(CellLayout layout);

}  // namespace detol::inline encoding
