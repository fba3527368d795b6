/** Small faults that a test should notice, found in the syntax tree of one source file. */
import { stripTypeScriptTypes } from 'node:module'
import { type AnyNode, parse } from 'acorn'

/** Two mutants of a file differ in `line`, `change` or `occurrence`, whatever the code around them is. */
export interface Mutant {
  /** Relative to the root of the project. */
  readonly file: string
  readonly start: number
  readonly end: number
  readonly text: string
  /** Offset of code that runs whenever the mutant matters: in `a && b`, `b` may not run. */
  readonly executedAt: number
  readonly lineNumber: number
  /** The source line at `start`, without indentation. */
  readonly line: string
  /** For people, and to find the mutant again: `=== -> !==`. */
  readonly change: string
  /** Counts mutants of the file with the same line and change. */
  readonly occurrence: number
  /** Runs when the module is loaded, not when a function is called. */
  readonly isModuleLevel: boolean
}

const operators: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
}

type Replacement = readonly [start: number, end: number, text: string, executedAt?: number]

/** Tests do not repeat the wording of log lines and error texts: mutants of these would always survive. */
function isWording(node: AnyNode, source: string): boolean {
  if (node.type === 'NewExpression') return /Error$/.test(textOf(node.callee, source))
  if (node.type === 'CallExpression') return /\b(log|logger|invalid|fault)\b/.test(textOf(node.callee, source))
  return node.type === 'TemplateLiteral' || node.type === 'ImportDeclaration'
}

const textOf = (node: { start: number; end: number }, source: string): string => source.slice(node.start, node.end)

const isText = (node: AnyNode): boolean =>
  node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string')

const isFunction = (node: AnyNode): boolean =>
  /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)

function replacementsOf(node: AnyNode, parent: AnyNode | undefined, source: string): Replacement[] {
  switch (node.type) {
    case 'IfStatement':
    case 'ConditionalExpression':
      return ['true', 'false'].map((text) => [node.test.start, node.test.end, text] as const)
    case 'WhileStatement':
      return [[node.test.start, node.test.end, 'false']]
    case 'BinaryExpression':
    case 'LogicalExpression': {
      if (node.operator === '??') return [[node.start, node.end, textOf(node.left, source)]]
      if (node.operator === '+' && [node.left, node.right].some(isText)) return []
      const other = operators[node.operator]
      // A whole condition is already replaced by true and by false.
      const isCondition = parent !== undefined && 'test' in parent && parent.test === node
      if (other === undefined || (isCondition && node.operator.endsWith('=='))) return []
      const at = source.indexOf(node.operator, node.left.end)
      return [[at, at + node.operator.length, other, node.left.start]]
    }
    case 'Literal':
      return typeof node.value === 'boolean' && parent?.type !== 'BinaryExpression'
        ? [[node.start, node.end, String(!node.value)]]
        : []
    case 'ExpressionStatement': {
      const { expression } = node
      const called = expression.type === 'AwaitExpression' ? expression.argument : expression
      if (called.type !== 'CallExpression' || isWording(called, source)) return []
      return [[node.start, node.end, ';']]
    }
    case 'ThrowStatement':
      return [[node.start, node.end, ';']]
    case 'MemberExpression': {
      const other = { some: 'every', every: 'some' }[textOf(node.property, source)]
      return node.computed || other === undefined ? [] : [[node.property.start, node.property.end, other]]
    }
    case 'ArrowFunctionExpression':
    case 'FunctionExpression':
    case 'FunctionDeclaration': {
      const { body } = node
      if (body.type === 'BlockStatement')
        return body.body.length === 0 || returnsValue(body) ? [] : [[body.start, body.end, '{}']]
      // A function that returns a call, such as a step of a task: `undo: (ctx) => ctx.drivers.…`.
      return parent?.type === 'Property' && body.type === 'CallExpression' ? [[body.start, body.end, 'undefined']] : []
    }
    default:
      return []
  }
}

function returnsValue(node: AnyNode): boolean {
  if (node.type === 'ReturnStatement') return node.argument != null
  return childrenOf(node).some((child) => !isFunction(child) && returnsValue(child))
}

const isNode = (value: unknown): value is AnyNode => typeof (value as AnyNode | null)?.type === 'string'

const childrenOf = (node: AnyNode): AnyNode[] => Object.values(node).flat().filter(isNode)

/** @param source TypeScript with erasable types; offsets of mutants are offsets in it */
export function mutantsOf(file: string, source: string): Mutant[] {
  // Erased types become blanks, so that offsets stay.
  const code = stripTypeScriptTypes(source)
  if (code.length !== source.length) throw new Error(`${file}: offsets differ once its types are erased`)
  const found: { replacement: Replacement; isModuleLevel: boolean }[] = []
  const visit = (node: AnyNode, parent: AnyNode | undefined, isModuleLevel: boolean): void => {
    const isModuleCode = isModuleLevel && !isFunction(node)
    for (const replacement of replacementsOf(node, parent, code))
      found.push({ replacement, isModuleLevel: isModuleCode })
    if (isWording(node, code)) return
    for (const child of childrenOf(node)) visit(child, node, isModuleCode)
  }
  visit(parse(code, { ecmaVersion: 'latest', sourceType: 'module' }), undefined, true)
  found.sort((a, b) => a.replacement[0] - b.replacement[0] || b.replacement[1] - a.replacement[1])

  const seen = new Map<string, number>()
  return found.map(({ replacement: [start, end, text, executedAt = start], isModuleLevel }) => {
    const lineStart = source.lastIndexOf('\n', start - 1) + 1
    const line = source.slice(lineStart, source.indexOf('\n', start)).trim()
    const change = `${shortened(source.slice(start, end))} -> ${text}`
    const occurrence = seen.get(`${line}\n${change}`) ?? 0
    seen.set(`${line}\n${change}`, occurrence + 1)
    const lineNumber = source.slice(0, start).split('\n').length
    return { file, start, end, text, executedAt, lineNumber, line, change, occurrence, isModuleLevel }
  })
}

const shortened = (text: string): string => {
  const flat = text.replaceAll(/\s+/g, ' ')
  return flat.length > 100 ? `${flat.slice(0, 100)}…` : flat
}
