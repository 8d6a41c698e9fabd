// Writes a network as a Graphviz digraph, for example for `dot -Tsvg best.dot -o best.svg`.

#include <fmt/format.h>

#include <algorithm>

#include "encodings/network/layer_json.h"
#include "export/formats.h"

namespace detol::inline exporting {
namespace {

// Writes a string in double quotes, with backslashes before quotes and backslashes.
std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string label_of(const Node& node) {
  std::string label(to_text(node.layer.kind));
  for (const auto& [name, value] : settings_of(node.layer)) {
    if (name != "channels") label += fmt::format(" {}={}", name, value);
  }
  return label + "  " + to_text(node.shape);
}

struct Counts {
  std::size_t nodes = 0, edges = 0;
  friend bool operator==(const Counts&, const Counts&) = default;
};

// Returns the rest of a line after the string in double quotes that it starts with; empty if none.
std::string_view behind_name(std::string_view line) {
  if (!line.starts_with("  \"")) return {};
  for (std::size_t at = 3; at < line.size(); ++at) {
    if (line[at] == '\\')
      ++at;
    else if (line[at] == '"')
      return line.substr(at + 1);
  }
  return {};
}

// Counts the nodes and edges, of which dot_bytes() writes one a line.
Counts drawn_in(std::string_view bytes) {
  Counts counts;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1);
    const std::string_view rest = behind_name(bytes.substr(0, end));
    if (rest.starts_with(" [") && rest.ends_with("];")) ++counts.nodes;
    if (rest.starts_with(" -> ") && rest.ends_with("\";")) ++counts.edges;
    bytes.remove_prefix(end + 1);
  }
  return counts;
}

}  // namespace

Result<std::string> dot_bytes(const Model& model) {
  std::string text = "digraph network {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const std::span<const Node> nodes = model.network.nodes();
  for (const Node& node : nodes) {
    text += fmt::format("  {} [label={}];\n", dot_string(node.name), dot_string(label_of(node)));
    for (NodeId input : node.inputs)
      text += fmt::format("  {} -> {};\n", dot_string(nodes[input].name), dot_string(node.name));
  }
  return text + "}\n";
}

Result<void> compare_dot(std::string_view bytes, const Model& model) {
  if (!bytes.starts_with("digraph") || !bytes.ends_with("}\n"))
    return fail(ErrorCode::kExport, "not a Graphviz digraph, or a cut one");
  const Counts drawn = drawn_in(bytes);
  Counts expected;
  for (const Node& node : model.network.nodes()) {
    ++expected.nodes;
    expected.edges += node.inputs.size();
  }
  if (drawn == expected) return {};
  return fail(ErrorCode::kExport,
              fmt::format("it draws {} layers and {} edges, the network has {} and {}", drawn.nodes,
                          drawn.edges, expected.nodes, expected.edges));
}

}  // namespace detol::inline exporting
