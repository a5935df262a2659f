"""The page Geometry: gradients in the plane and in space, and the update direction of each method."""
