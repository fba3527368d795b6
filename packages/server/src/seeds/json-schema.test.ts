import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { seedJsonSchema } from './json-schema.ts'
import { presets } from './presets.ts'

type Json = { readonly [name: string]: any }

/** A minimal JSON Schema validator. @returns the first fault */
function misfit(schema: Json, value: any, path = ''): string | undefined {
  if (schema['anyOf'] !== undefined) {
    const misfits = schema['anyOf'].map((each: Json) => misfit(each, value, path))
    return misfits.includes(undefined) ? undefined : misfits.join(' and ')
  }
  if (schema['enum'] !== undefined && !schema['enum'].includes(value)) return `${path}: ${value}`
  const is = Array.isArray(value)
    ? 'array'
    : typeof value === 'number' && Number.isInteger(value)
      ? 'integer'
      : typeof value
  if (schema['type'] !== undefined && schema['type'] !== is) return `${path}: ${is}, not ${schema['type']}`
  if (is === 'array')
    return value.map((item: any, index: number) => misfit(schema['items'], item, `${path}[${index}]`)).find(Boolean)
  if (is !== 'object') return undefined
  for (const name of schema['required'] ?? []) if (!(name in value)) return `${path}: without ${name}`
  for (const [name, item] of Object.entries(value)) {
    const field = schema['properties']?.[name] ?? schema['additionalProperties']
    if (field === false) return `${path}.${name}: unknown`
    if (field === undefined) continue
    const found = misfit(field, item, `${path}.${name}`)
    if (found !== undefined) return found
  }
  return undefined
}

test('the presets that are files fit the published schema, and a misspelt one does not', () => {
  const schema = seedJsonSchema()
  for (const preset of presets.filter((name) => name !== 'empty' && name !== 'demo')) {
    const text = readFileSync(join(import.meta.dirname, 'presets', `${preset}.yaml`), 'utf8')
    assert.equal(misfit(schema, parse(text)), undefined, preset)
    assert.match(misfit(schema, parse(text.replaceAll('powerState', 'powerSatte'))) ?? '', /powerSatte: unknown/)
  }
})

test('every field without a self-explanatory name has a description', () => {
  const { properties } = seedJsonSchema() as Json
  for (const name of ['extends', 'random', 'names', 'entities', 'facts', 'leftOut', 'vms'])
    assert.match(properties[name].description, /\w/, name)
  assert.ok('Vm' in properties['entities'].properties)
  assert.ok(!('AuditRecord' in properties['entities'].properties))
})
