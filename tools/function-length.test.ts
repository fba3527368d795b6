import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { type Node, parse } from 'acorn'

const root = resolve(import.meta.dirname, '..')
const maximumLines = 80

function* functionsIn(file: string): Generator<{ readonly line: number; readonly lines: number }> {
  // Erased types become blanks, so that line numbers stay.
  const text = file.endsWith('.ts') ? stripTypeScriptTypes(readFileSync(file, 'utf8')) : readFileSync(file, 'utf8')
  const lineOf = (offset: number): number => text.slice(0, offset).split('\n').length
  const open: unknown[] = [parse(text, { ecmaVersion: 'latest', sourceType: 'module', allowHashBang: true })]
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value !== 'object' || value === null) continue
    open.push(...Object.values(value))
    const { type, start, end } = value as Node
    if (!/^(ArrowFunctionExpression|FunctionDeclaration|FunctionExpression)$/.test(type ?? '')) continue
    const line = lineOf(start)
    yield { line, lines: lineOf(end) - line + 1 }
  }
}

test(`no function of the sources has more than ${maximumLines} lines`, () => {
  const long = readdirSync(join(root, 'packages'), { recursive: true, withFileTypes: true })
    .filter(({ name, parentPath }) => /(?<!\.test)\.[jt]s$/.test(name) && /packages\/\w+\/src/.test(parentPath))
    .map(({ name, parentPath }) => join(parentPath, name))
    .filter((file) => !file.includes('node_modules'))
    .flatMap((file) =>
      [...functionsIn(file)]
        .filter(({ lines }) => lines > maximumLines)
        .map(({ line, lines }) => `${relative(root, file)}:${line} has ${lines} lines`),
    )
  assert.deepEqual(long, [])
})
