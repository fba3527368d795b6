/** Answers contain only what the contract names, in every operation, version and profile. Source: conventions 2.3, 13. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AnySchema, contract, type Operation } from '@hyperplane/contract'
import { createEnvelopeWriter } from '../../src/http/envelope.ts'
import type { Profile } from '../../src/http/profiles/names.ts'

const foreign = 'a-field-that-the-contract-does-not-name'
const secret = 'a-secret-that-must-not-leave'

/** A value of the schema with every field, and in each object one that the contract does not name. Frozen, as rows are. */
function rowOf(schema: AnySchema, depth = 0): unknown {
  if (schema.type === 'object') {
    const fields = depth > 6 ? [] : Object.entries(schema.fields)
    const row = Object.fromEntries(fields.map(([name, field]) => [name, fieldValue(field, depth + 1)]))
    return Object.freeze({ ...row, ...(schema.objectType && { $objectType: schema.objectType }), [foreign]: foreign })
  }
  return fieldValue(schema, depth)
}

function fieldValue(schema: AnySchema, depth: number): unknown {
  // A secret that is an object or a list is one by its fields, too.
  if (schema.secret === true && schema.type === 'text') return secret
  switch (schema.type) {
    case 'object':
      return rowOf(schema, depth)
    case 'list':
      return Object.freeze([rowOf(schema.items, depth + 1)])
    case 'oneOf':
      return rowOf(schema.alternatives[0] as AnySchema, depth + 1)
    case 'map':
      return Object.freeze({ name: rowOf(schema.values, depth + 1) })
    case 'integer':
    case 'number':
      return 1
    case 'boolean':
      return true
    case 'enumeration':
      return schema.values[0]
    case 'anything':
      return {}
    default:
      return 'a-text'
  }
}

const namespaces = new Map(contract.map((namespace) => [namespace.name, namespace]))
const { reply } = createEnvelopeWriter({ namespaces })
const profiles: readonly Profile[] = ['spec', 'public']

function answerOf(operation: Operation, version: string, profile: Profile, data: unknown): string {
  const context = { profile, origin: 'https://host', base: '/api', path: operation.path, query: '', now: () => '' }
  return reply({ status: operation.status, version, data }, operation, context).body ?? ''
}

for (const { name, operations } of contract)
  test(`answers of ${name} contain no field that the contract does not name, and no secret`, () => {
    const answering = operations.filter(({ answer, status }) => answer !== undefined && status !== 204)
    assert.notEqual(answering.length, 0)
    for (const operation of answering) {
      const data = rowOf(operation.answer as AnySchema)
      for (const version of operation.versions)
        for (const profile of profiles) {
          const text = answerOf(operation, version, profile, data)
          const label = `${operation.key} ${version} ${profile}`
          assert.ok(!text.includes(foreign), `${label} contains a foreign field`)
          if (operation.verb !== 'create') assert.ok(!text.includes(secret), `${label} contains a secret`)
          assert.equal(answerOf(operation, version, profile, data), text, `${label} differs when it is answered again`)
          JSON.parse(text)
        }
    }
  })

test('links of an entity name the host of each request, also when the entity was answered to another host before', () => {
  const [operation] = contract.flatMap(({ operations }) => operations.filter(({ id }) => id === 'getCategoryById'))
  const data = Object.freeze({ extId: '5d3f6a0e-9f0b-4c39-8f4e-3a1d0c9b7e11', key: 'team', value: 'web' })
  const textFor = (origin: string): string => {
    const context = { profile: 'spec', origin, base: '/api', path: '/', query: '', now: () => '' } as const
    return reply({ status: 200, version: 'v4.3', data }, operation, context).body ?? ''
  }
  textFor('https://one')
  assert.match(textFor('https://other'), /"href":"https:\/\/other\/api\/platform/)
  assert.ok(!textFor('https://other').includes('https://one'))
})
