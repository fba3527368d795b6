import assert from 'node:assert/strict'
import { test } from 'node:test'
import { arrayOf, integer, object, text } from '@hyperplane/contract'
import { checkFilter } from './check.ts'
import { fieldsOf } from './fields.ts'
import { parseFilter } from './parse.ts'

const schema = object('a.v1.Vm', {
  name: text(),
  cores: integer(),
  nics: arrayOf(object('a.v1.Nic', { mac: text(), ips: arrayOf(text()) })),
})
const fields = ['name', 'cores', 'nics/mac', 'nics/ips']
const asked = (filter: string): string[] => fieldsOf(checkFilter(parseFilter(filter), { fields, schema }))

test('lists each field of a filter once', () => {
  assert.deepEqual(asked("cores gt 2 and (name eq 'a' or not startswith(tolower(name), 'b')) and cores in (1, 2)"), [
    'cores',
    'name',
  ])
})

test('lists fields of elements by their full path', () => {
  assert.deepEqual(asked("nics/any(n: n/mac eq 'x' and n/ips/any(i: i eq '10.0.0.1'))"), ['nics/ips', 'nics/mac'])
})
