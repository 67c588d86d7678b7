from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call


def multi_turn_checker(decoded, truth, entry, category, name):
    for model_turn, true_turn in zip(decoded, truth, strict=True):
        given = (entry["initial_config"], entry["involved_classes"])
        one = None
        for step in model_turn:
            _, one = execute_multi_turn_func_call(step, *given, name, entry["id"], is_evaL_run=True)
        _, other = execute_multi_turn_func_call(
            true_turn, *given, name + "_ground_truth", entry["id"], is_evaL_run=True
        )
        if true_turn and one is None:
            return {"valid": False, "error_type": "multi_turn:empty_turn_model_response"}
        if true_turn and one["Shelf"].books != other["Shelf"].books:
            return {"valid": False, "error_type": "multi_turn:instance_state_mismatch"}
    return {"valid": True}
