// The oracle answers questions about Argo's little languages with Argo's own packages: one JSON question a line in,
// one JSON answer a line out, in the same order. It exists to hold pipelines/expressions to Argo.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/Knetic/govaluate"
	wfv1 "github.com/argoproj/argo-workflows/v4/pkg/apis/workflow/v1alpha1"
	"github.com/argoproj/argo-workflows/v4/util/expr/argoexpr"
	"github.com/argoproj/argo-workflows/v4/util/expr/env"
	"github.com/argoproj/argo-workflows/v4/util/logging"
	"github.com/argoproj/argo-workflows/v4/util/template"
	"github.com/argoproj/argo-workflows/v4/workflow/common"
	"github.com/expr-lang/expr"
)

type question struct {
	Language     string                     `json:"language"`
	Text         string                     `json:"text"`
	Tree         json.RawMessage            `json:"tree"`
	Scope        map[string]string          `json:"scope"`
	Variables    map[string]any             `json:"variables"`
	Strict       []string                   `json:"strict"`
	Dependencies []string                   `json:"dependencies"`
	ContinueOn   map[string]wfv1.ContinueOn `json:"continueOn"`
	Results      map[string]map[string]bool `json:"results"`
}

type answer struct {
	Value any    `json:"value"`
	Kind  string `json:"kind,omitempty"`
	Logic string `json:"logic,omitempty"`
	Error string `json:"error,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<26)
	output := bufio.NewWriter(os.Stdout)
	defer output.Flush()
	encoder := json.NewEncoder(output)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			panic(err)
		}
		if err := encoder.Encode(reply(asked)); err != nil {
			panic(err)
		}
	}
	if err := lines.Err(); err != nil {
		panic(err)
	}
}

func reply(asked question) (replied answer) {
	defer func() {
		if panicked := recover(); panicked != nil {
			replied = answer{Error: fmt.Sprintf("panic: %v", panicked)}
		}
	}()
	languages := map[string]func(question) (answer, error){
		"tags": tags, "when": when, "expr": expression, "depends": depends, "anystring": anyString,
	}
	replied, err := languages[asked.Language](asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return replied
}

func tags(asked question) (answer, error) {
	// Argo always begins with what it marshalled itself: Go's escapes matter.
	var tree any
	if err := json.Unmarshal(asked.Tree, &tree); err != nil {
		return answer{}, err
	}
	marshalled, err := json.Marshal(tree)
	if err != nil {
		return answer{}, err
	}
	ctx := logging.WithLogger(context.Background(), logging.NewSlogLoggerCustom(logging.Error, logging.Text, io.Discard))
	replaced, err := template.ReplaceStrict(ctx, string(marshalled), asked.Scope, asked.Strict)
	if err != nil {
		return answer{}, err
	}
	return answer{Value: json.RawMessage(replaced)}, nil
}

// when does what the unexported shouldExecute does (workflow/controller/steps.go:375).
func when(asked question) (answer, error) {
	if asked.Text == "" {
		return answer{Value: true}, nil
	}
	parsed, err := govaluate.NewEvaluableExpression(asked.Text)
	if err != nil {
		hint := ""
		if strings.Contains(err.Error(), "Invalid token") {
			hint = " (hint: try wrapping the affected expression in quotes (\"))"
		}
		return answer{}, fmt.Errorf("Invalid 'when' expression '%s': %v%s", asked.Text, err, hint)
	}
	tokens := parsed.Tokens()
	for i := range tokens {
		if tokens[i].Kind == govaluate.VARIABLE {
			tokens[i].Kind = govaluate.STRING
		}
	}
	parsed, err = govaluate.NewEvaluableExpressionFromTokens(tokens)
	if err != nil {
		return answer{}, fmt.Errorf("Failed to parse 'when' expression '%s': %v", asked.Text, err)
	}
	result, err := parsed.Evaluate(nil)
	if err != nil {
		return answer{}, fmt.Errorf("Failed to evaluate 'when' expresion '%s': %v", asked.Text, err)
	}
	decision, ok := result.(bool)
	if !ok {
		return answer{}, fmt.Errorf("Expected boolean evaluation for '%s'. Got %v", asked.Text, result)
	}
	return answer{Value: decision}, nil
}

func expression(asked question) (answer, error) {
	variables := env.GetFuncMap(asked.Variables)
	program, err := expr.Compile(asked.Text, expr.Env(variables))
	if err != nil {
		return answer{}, err
	}
	value, err := expr.Run(program, variables)
	if err != nil {
		return answer{}, err
	}
	kind := reflect.ValueOf(value).Kind().String()
	if _, err := json.Marshal(value); err != nil {
		return answer{Kind: kind + ", which is no JSON"}, nil
	}
	return answer{Value: value, Kind: kind}, nil
}

// graph is a DAG of which only the continueOn of its tasks matters.
type graph struct {
	common.DagContext
	continueOn map[string]wfv1.ContinueOn
}

func (g graph) GetTask(_ context.Context, name string) *wfv1.DAGTask {
	if policy, ok := g.continueOn[name]; ok {
		return &wfv1.DAGTask{Name: name, ContinueOn: &policy}
	}
	return &wfv1.DAGTask{Name: name}
}

func depends(asked question) (answer, error) {
	task := &wfv1.DAGTask{Depends: asked.Text, Dependencies: asked.Dependencies}
	if err := common.ValidateTaskResults(task); err != nil {
		return answer{}, err
	}
	_, logic := common.GetTaskDependencies(context.Background(), task, graph{continueOn: asked.ContinueOn})
	scope := map[string]taskResults{}
	for name, ended := range asked.Results {
		scope[strings.ReplaceAll(name, "-", "_")] = taskResults{
			ended["Succeeded"], ended["Failed"], ended["Errored"], ended["Skipped"],
			ended["Omitted"], ended["Daemoned"], ended["AnySucceeded"], ended["AllFailed"],
		}
	}
	runs, err := argoexpr.EvalBool(strings.ReplaceAll(logic, "-", "_"), scope)
	return answer{Value: runs, Logic: logic}, err
}

// taskResults is the unexported struct of workflow/controller/dag.go:911.
type taskResults struct {
	Succeeded, Failed, Errored, Skipped, Omitted, Daemoned, AnySucceeded, AllFailed bool
}

func anyString(asked question) (answer, error) {
	var value wfv1.AnyString
	if err := json.Unmarshal(asked.Tree, &value); err != nil {
		return answer{}, err
	}
	return answer{Value: value.String()}, nil
}
