import assert from 'node:assert/strict'
import { test } from 'node:test'
import { names } from './names.ts'
import type { RoleName } from './roles.ts'
import { enumeration, type ValueOf } from './schema.ts'

test('commas separate names, and lines may end after any of them', () => {
  assert.deepEqual(
    names(`
      Super Admin, VPC Admin,
      User
    `),
    ['Super Admin', 'VPC Admin', 'User'],
  )
})

test('the type knows every name', () => {
  const roles: readonly RoleName[] = names('Super Admin, VPC Admin')
  // @ts-expect-error: no role has this name.
  const misspelt: readonly RoleName[] = names('Super Admin, VPC Admn')
  const state = enumeration(`
    ON, OFF
  `)
  const values: ValueOf<typeof state>[] = ['ON', 'OFF']
  // @ts-expect-error: no value has this name.
  const other: ValueOf<typeof state> = 'UNKNOWN'
  assert.deepEqual([roles.length, misspelt.length, state.values, other], [2, 2, values, 'UNKNOWN'])
})
