// A network as a Graphviz digraph: dot -Tsvg best.dot -o best.svg

#include <fmt/format.h>

#include "export/formats.h"

namespace detol {
namespace {

// A string in double quotes; only quotes and backslashes need care.
std::string in_quotes(std::string_view text) {
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

}  // namespace

Result<std::string> dot_bytes(const Model& model) {
  std::string text = "digraph network {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const std::span<const Node> nodes = model.network.nodes();
  for (const Node& node : nodes) {
    text += fmt::format("  {} [label={}];\n", in_quotes(node.name), in_quotes(label_of(node)));
    for (NodeId input : node.inputs)
      text += fmt::format("  {} -> {};\n", in_quotes(nodes[input].name), in_quotes(node.name));
  }
  return text + "}\n";
}

Result<void> check_dot(std::string_view bytes) {
  if (!bytes.starts_with("digraph") || !bytes.ends_with("}\n"))
    return fail(ErrorCode::kExport, "not a Graphviz digraph, or a cut one");
  return {};
}

}  // namespace detol
