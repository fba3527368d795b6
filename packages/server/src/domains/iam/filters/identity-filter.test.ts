import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  excludesGroup,
  matchesIdentity,
  mayMatchIdentity,
  namesOnly,
  readIdentityFilter,
  requiresGroup,
} from './identity-filter.ts'

const value = fc.constantFrom('a', 'b', 'c')
const several = fc.array(value, { minLength: 1, maxLength: 3 })
const condition = fc.oneof(
  fc.record({ eq: value }),
  fc.record({ noteq: value }),
  fc.record({ anyof: several }),
  fc.record({ allof: several }),
  fc.record({ noneof: several }),
  fc.record({ anyof: several, noteq: value }),
)
const everybody = fc.constant({ '*': { eq: '*' } })
const user = fc.oneof(
  everybody,
  fc.dictionary(fc.constantFrom('uuid', 'group', 'username'), condition, { minKeys: 1, maxKeys: 3 }),
)
const group = fc.oneof(everybody, fc.record({ uuid: condition }))
const filters = fc
  .record({ user, user_group: group }, { requiredKeys: [] })
  .filter((filter) => Object.keys(filter).length > 0)
  .map((filter) => readIdentityFilter(filter, ''))
const groupSets = fc.subarray(['a', 'b', 'c']).map((names) => new Set(names))
const identity = (uuid: string, groups: ReadonlySet<string>) => ({ uuid, username: 'b', idp: '', type: 'LDAP', groups })
const runs = { numRuns: 3000, seed: 7 }

test('an identity that matches with some of its possible groups may match', () => {
  let matched = 0
  fc.assert(
    fc.property(filters, value, groupSets, groupSets, (filter, uuid, groups, others) => {
      const facts = identity(uuid, groups)
      if (!matchesIdentity(filter, facts)) return
      matched += 1
      assert.ok(mayMatchIdentity(filter, identity(uuid, new Set()), new Set([...groups, ...others])))
    }),
    runs,
  )
  assert.ok(matched > 300, `only ${matched} filters matched`)
})

test('a filter that names one user matches nobody else', () => {
  let named = 0
  fc.assert(
    fc.property(filters, value, value, groupSets, (filter, only, uuid, groups) => {
      if (!namesOnly(filter, only)) return
      named += 1
      assert.ok(uuid === only || !matchesIdentity(filter, identity(uuid, groups)))
    }),
    runs,
  )
  assert.ok(named > 50, `only ${named} filters named one user`)
})

test('a filter that matches only with a group requires it, and one that matches only without it excludes it', () => {
  fc.assert(
    fc.property(filters, value, groupSets, value, (filter, uuid, groups, name) => {
      const without = matchesIdentity(filter, identity(uuid, new Set([...groups].filter((one) => one !== name))))
      const withIt = matchesIdentity(filter, identity(uuid, new Set([...groups, name])))
      if (withIt && !without) assert.ok(requiresGroup(filter, (one) => one === name))
      if (without && !withIt) assert.ok(excludesGroup(filter, name))
    }),
    runs,
  )
})
