[
  { "count" : 10 }
, { "name" : "Conv_0 + Relu_1", "timeMs" : 3.2, "averageMs" : 0.32, "medianMs" : 0.31, "percentage" : 68.0851 }
, { "name" : "Conv_2", "timeMs" : 1.5, "averageMs" : 0.15, "medianMs" : 0.15, "percentage" : 31.9149 }
, { "name" : "Reshape_7", "timeMs" : 0, "averageMs" : 0, "medianMs" : 0, "percentage" : 0 }
]
