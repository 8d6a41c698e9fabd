#include "export/onnx_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "export/onnx_nodes.h"

namespace detol::inline exporting {
namespace {

bool is_number(const TableColumn& column) {
  return column.kind != ColumnKind::kCategory;
}

bool is_one_input(const TableEncoder& table) {
  return std::ranges::all_of(
      table.columns, [](const TableColumn& column) { return column.kind == ColumnKind::kNumber; });
}

std::int64_t size_of(const auto& list) {
  return static_cast<std::int64_t>(list.size());
}

// Intervals between quantiles, one after the other.
struct Intervals {
  std::vector<std::int64_t> columns;  // among the numbers
  std::vector<float> lows, widths;

  void add(std::int64_t column, std::span<const float> knots) {
    for (std::size_t i = 0; i + 1 < knots.size(); ++i)
      add(column, knots[i], knots[i + 1] - knots[i]);
  }
  void add(std::int64_t column, float low, float width) {
    columns.push_back(column);
    lows.push_back(low);
    widths.push_back(width);
  }
};

class TableNodes : private OnnxNodes {
 public:
  TableNodes(onnx::GraphProto& graph, const TableEncoder& table) : OnnxNodes(graph) {
    std::int64_t input = 0;
    for (const TableColumn& column : table.columns) {
      (is_number(column) ? numbers_ : categories_).push_back({&column, input});
      input += static_cast<std::int64_t>(column.inputs());
    }
  }

  // Returns the edges of floats without offsets. `cells`: as write() takes them.
  Names without(const Offsets& offsets, Names cells) {
    for (std::size_t i = 0; i < cells.size() && !offsets.inputs.empty(); ++i) {
      const std::vector<double> own =
          cells.size() == 1 ? offsets.inputs : std::vector{offsets.inputs[i]};
      if (std::ranges::all_of(own, [](double offset) { return offset == 0; })) continue;
      cells[i] = less(fmt::format("table.less.{}", i), cells[i], {1, size_of(own)}, own);
    }
    return cells;
  }

  // `names`: of the edges with the columns' cells, or of the one with all.
  std::string write(const Names& cells, const TableEncoder& table) {
    Names of_numbers, of_categories;
    for (std::size_t i = 0; i < table.columns.size() && cells.size() > 1; ++i)
      (is_number(table.columns[i]) ? of_numbers : of_categories).push_back(cells[i]);
    if (cells.size() == 1) (numbers_.empty() ? of_categories : of_numbers) = cells;
    if (!of_numbers.empty()) write_numbers(joined("table.numbers", of_numbers));
    if (!of_categories.empty()) write_categories(of_categories);
    std::string all = joined("table.parts", parts_);
    std::vector<std::int64_t> from(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
      from[static_cast<std::size_t>(order_[i])] = static_cast<std::int64_t>(i);
    if (!std::ranges::is_sorted(from)) all = gather("table.ordered", all, from);
    return op("Unsqueeze", "table.inputs", {all, integers("table.axes", {2}, {2, 3})});
  }

 private:
  struct Place {
    const TableColumn* column;
    std::int64_t input;  // the first of the column's, as the encoder has them
  };

  std::string op(const char* type, const std::string& name, const Names& inputs) {
    add(type, name, inputs);
    return name;
  }

  std::string cast(const std::string& name, const std::string& input) {
    set_int(add("Cast", name, {input}), "to", onnx::TensorProto::FLOAT);
    return name;
  }

  std::string joined(const std::string& name, const Names& parts) {
    if (parts.size() == 1) return parts.front();
    set_int(add("Concat", name, parts), "axis", 1);
    return name;
  }

  std::string gather(const std::string& name, const std::string& from, const Integers& columns) {
    const std::string indices = integers(name + ".columns", {size_of(columns)}, columns);
    set_int(add("Gather", name, {from, indices}), "axis", 1);
    return name;
  }

  // Returns a row of numbers, one for each column of a matrix.
  std::string row(const std::string& name, const std::vector<float>& values) {
    return floats(name, {1, size_of(values)}, values);
  }

  std::string scalar(const std::string& name, float value) { return floats(name, {}, {value}); }

  // Notes a part of the inputs and where the encoder has them.
  void add_part(std::string name, const Integers& inputs) {
    parts_.push_back(std::move(name));
    order_.insert(order_.end(), inputs.begin(), inputs.end());
  }

  void write_numbers(const std::string& cells) {
    std::vector<float> fills;
    for (const auto& [column, input] : numbers_) fills.push_back(column->fill);
    const std::string missing = op("IsNaN", "table.is_missing", {cells});
    const std::string filled =
        op("Where", "table.filled", {missing, row("table.fill", fills), cells});
    write_standard(filled);
    write_ranks(filled);
    write_pieces(filled);
    write_marks(missing);
  }

  // Calls `use(place, column's position among the numbers)` for the columns of an encoding.
  void each(NumberEncoding encoding, auto use) const {
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      if (numbers_[i].column->encoding == encoding) use(numbers_[i], static_cast<std::int64_t>(i));
    }
  }

  void write_standard(const std::string& filled) {
    Integers columns, inputs;
    std::vector<float> scales, shifts;
    each(NumberEncoding::kStandard, [&](const Place& place, std::int64_t at) {
      const double mean = place.column->mean, deviation = place.column->deviation;
      columns.push_back(at);
      inputs.push_back(place.input);
      scales.push_back(static_cast<float>(1 / deviation));
      shifts.push_back(static_cast<float>(-mean / deviation));
    });
    if (columns.empty()) return;
    const std::string cells = gather("table.standard", filled, columns);
    const std::string scaled =
        op("Mul", "table.standard.scaled", {cells, row("table.standard.scale", scales)});
    add_part(op("Add", "table.standard.shifted", {scaled, row("table.standard.shift", shifts)}),
             inputs);
  }

  // Returns how far the cells are through the intervals, from 0 to 1.
  std::string shares(const std::string& at, const std::string& filled, const Intervals& of) {
    const std::string cells = gather(at, filled, of.columns);
    const std::string above = op("Sub", at + ".above", {cells, row(at + ".low", of.lows)});
    const std::string share = op("Div", at + ".share", {above, row(at + ".width", of.widths)});
    return op("Clip", at + ".clipped", {share, scalar(at + ".least", 0), scalar(at + ".most", 1)});
  }

  // Every column has as many intervals as the one that has most: none reaches the ones added.
  void write_ranks(const std::string& filled) {
    Integers inputs;
    std::vector<float> counts;
    std::size_t most = 0;
    each(NumberEncoding::kQuantile, [&](const Place& place, std::int64_t) {
      most = std::max(most, place.column->knots.size());
    });
    if (most < 2) return;
    Intervals intervals;
    each(NumberEncoding::kQuantile, [&](const Place& place, std::int64_t at) {
      const std::vector<float>& knots = place.column->knots;
      if (knots.size() < 2) return;
      inputs.push_back(place.input);
      counts.push_back(static_cast<float>(knots.size() - 1));
      intervals.add(at, knots);
      for (std::size_t i = knots.size(); i < most; ++i)
        intervals.add(at, std::numeric_limits<float>::max(), 1);
    });
    const std::string at = "table.rank";
    const std::string share = shares(at, filled, intervals);
    const std::string each_column = op(
        "Reshape", at + ".shares",
        {share,
         integers(at + ".shape", {3}, {-1, size_of(inputs), static_cast<std::int64_t>(most) - 1})});
    set_int(add("ReduceSum", at + ".passed", {each_column, integers(at + ".axis", {1}, {2})}),
            "keepdims", 0);
    const std::string twice = op("Mul", at + ".twice", {at + ".passed", scalar(at + ".two", 2)});
    const std::string ratio = op("Div", at + ".ratio", {twice, row(at + ".count", counts)});
    const std::string centred = op("Sub", at + ".centred", {ratio, scalar(at + ".one", 1)});
    add_part(op("Mul", at + ".scaled", {centred, scalar(at + ".largest", kLargestRank)}), inputs);
  }

  void write_pieces(const std::string& filled) {
    Intervals intervals;
    Integers inputs;
    each(NumberEncoding::kPiecewise, [&](const Place& place, std::int64_t at) {
      intervals.add(at, place.column->knots);
      for (std::size_t i = 0; i + 1 < place.column->knots.size(); ++i)
        inputs.push_back(place.input + static_cast<std::int64_t>(i));
    });
    if (!inputs.empty()) add_part(shares("table.pieces", filled, intervals), inputs);
  }

  void write_marks(const std::string& missing) {
    Integers columns, inputs;
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const auto& [column, input] = numbers_[i];
      if (!column->marks_missing) continue;
      columns.push_back(static_cast<std::int64_t>(i));
      inputs.push_back(input + static_cast<std::int64_t>(column->inputs()) - 1);
    }
    if (columns.empty()) return;
    add_part(gather("table.marks", cast("table.missing", missing), columns), inputs);
  }

  // Adds the node that gives the code of a category: that of none where it is not known.
  std::string codes(const std::string& name, const std::string& texts, const TableColumn& column) {
    onnx::NodeProto& node = add("LabelEncoder", name, {texts});
    node.set_domain(kOnnxMlDomain);
    std::vector<std::string_view> keys(column.categories.begin(), column.categories.end());
    Integers values(keys.size());
    std::iota(values.begin(), values.end(), 0);
    const auto empty = std::ranges::find(keys, std::string_view());
    if (empty != keys.end()) {
      const std::int64_t code = empty - keys.begin();
      for (const std::string_view word : missing_words()) {
        if (std::ranges::find(keys, word) != keys.end()) continue;
        keys.push_back(word);
        values.push_back(code);
      }
    }
    set_strings(node, "keys_strings", keys);
    set_ints(node, "values_int64s", values);
    set_int(node, "default_int64", size_of(column.categories));
    return name;
  }

  void write_categories(const Names& cells) {
    Names all;
    Integers columns, wanted, inputs;
    for (std::size_t i = 0; i < categories_.size(); ++i) {
      const auto& [column, input] = categories_[i];
      all.push_back(codes(fmt::format("table.code.{}", i), cells[i], *column));
      for (std::int64_t k = 0; k < static_cast<std::int64_t>(column->inputs()); ++k) {
        columns.push_back(static_cast<std::int64_t>(i));
        wanted.push_back(k);
        inputs.push_back(input + k);
      }
    }
    const std::string code = gather("table.category", joined("table.codes", all), columns);
    const std::string one = integers("table.categories", {1, size_of(wanted)}, wanted);
    add_part(cast("table.one_hot", op("Equal", "table.is_category", {code, one})), inputs);
  }

  std::vector<Place> numbers_, categories_;
  Names parts_;
  Integers order_;  // which of the encoder's inputs the parts' columns are
};

void declare(onnx::GraphProto& graph, const std::string& name, int type, std::int64_t columns,
             const std::string& meaning) {
  onnx::ValueInfoProto& info = *graph.add_input();
  info.set_name(name);
  info.set_doc_string(meaning);
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape()->add_dim()->set_dim_param("N");
  tensor.mutable_shape()->add_dim()->set_dim_value(columns);
}

int type_of(const TableEncoder& table, const Offsets& offsets, std::size_t column) {
  return takes_doubles(table, offsets, column) ? onnx::TensorProto::DOUBLE
                                               : onnx::TensorProto::FLOAT;
}

void declare_columns(onnx::GraphProto& graph, const std::vector<std::string>& names,
                     const TableEncoder& table, const Offsets& offsets) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    const TableColumn& column = table.columns[i];
    const int number = type_of(table, offsets, i);
    if (column.kind == ColumnKind::kCategory)
      declare(graph, names[i], onnx::TensorProto::STRING, 1, "a category; empty: missing");
    else if (column.kind == ColumnKind::kDate)
      declare(graph, names[i], number, 1, "a date, as days since 1970-01-01; NaN: missing");
    else
      declare(graph, names[i], number, 1, "a number; NaN: missing");
  }
}

}  // namespace

bool has_categories(const TableEncoder& table) {
  return std::ranges::any_of(table.columns, [](const auto& column) { return !is_number(column); });
}

std::vector<std::string> table_input_names(const TableEncoder& table, const Network& network) {
  if (is_one_input(table)) return {"input"};
  std::set<std::string> taken = {"table",      "input", "logits",
                                 "prediction", "label", "probabilities"};
  for (const Node& node : network.nodes()) taken.insert(node.name.substr(0, node.name.find('.')));
  std::set<std::string> used;
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns) {
    std::string name = column.name;
    while (taken.contains(name.substr(0, name.find('.'))) || !used.insert(name).second)
      name = "column." + name;
    names.push_back(name);
  }
  return names;
}

bool takes_doubles(const TableEncoder& table, const Offsets& offsets, std::size_t column) {
  return !offsets.inputs.empty() && (is_one_input(table) || offsets.inputs[column] != 0);
}

std::string add_table_inputs(onnx::GraphProto& graph, const std::vector<std::string>& names,
                             const TableEncoder& table, const Offsets& offsets) {
  if (is_one_input(table)) {
    std::string columns;
    for (const TableColumn& column : table.columns)
      columns += fmt::format("{}{}", columns.empty() ? "" : ", ", column.name);
    declare(graph, names.front(), type_of(table, offsets, 0), size_of(table.columns),
            "the columns " + columns + "; NaN: missing");
  } else {
    declare_columns(graph, names, table, offsets);
  }
  TableNodes nodes(graph, table);
  return nodes.write(nodes.without(offsets, names), table);
}

}  // namespace detol::inline exporting
