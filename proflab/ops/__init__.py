"""Every operation, once: its shape rule, its forward, what it keeps, its backward.

Each op is a class registered with dispatch under its name, and beside it stands the function of
torch's name that checks its arguments and applies it. Ops see arrays only, and nothing here counts
anything. What `__all__` of a file names is in `proflab`, or, of the files for networks, in
`proflab.nn.functional`; the decorators of tensor_methods.py say what is a method of Tensor.

For tensors                                       For networks
  convert     dtypes, clone                         activation   relu, gelu, softmax …
  pointwise   exp, tanh, erf …                      linear       input @ weight.T + bias
  comparison  ==, <, logic                          conv         convolutions
  arithmetic  + - * / // % **                       pool         largest and mean of windows
  where       where, maximum, clamp, masks          pad          borders
  reduce      sum, mean, var, argmax …              norm         layer, batch, group norm
  views       reshape, permute, expand …            embedding    rows of a table
  indexing    x[i], gather, scatter                 attention    fused attention
  concat      cat, split, repeat, triangles         random       dropout
  sort        sort, topk, max, min                  loss         cross-entropy …
  matmul      products, through BLAS                composite    short compositions of these
  einsum      products over named dimensions        parts        what stays in a cache
"""
