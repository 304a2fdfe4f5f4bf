//! Plans as the Python package sends them.

use bayop_load::plan::Plan;
use serde_json::{Value, json};

/// So many records, and what an HTTP server is asked for each.
pub fn workload(records: u64, http: Value) -> Value {
    json!({
        "records": records, "key_size": "30", "value_size": "8", "update": 0.0, "popularity": "uniform", "http": http,
        "sql": {"texts": [{"name": "", "weight": 1.0, "text": "SELECT 1"}], "user": "postgres", "password": null, "database": null},
    })
}

/// A plan of one connection to an echo server, with the fields of an object in place of its own.
pub fn plan(fields: Value) -> Plan {
    let mut plan = json!({
        "servers": ["h:1"], "dialect": "echo", "threads": 1, "connections": 1, "depth": null,
        "workload": workload(
            1, json!([{"name": "", "weight": 1.0, "method": "GET", "path": "/", "headers": [], "bodies": []}])
        ),
        "schedule": {"kind": "closed"},
        "warmup_s": 0.0, "duration_s": 1.0, "timeout_s": 1.0, "blocking": false, "save_samples": false,
        "until_interval": null, "seed": 7,
    });
    let Value::Object(fields) = fields else { panic!("{fields} is no object") };
    plan.as_object_mut().unwrap().extend(fields);
    Plan::from_json(&plan.to_string()).unwrap()
}
