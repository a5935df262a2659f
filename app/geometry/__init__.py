"""The page Geometry: gradients in the plane and in space, and what each method makes of them."""
