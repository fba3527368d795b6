import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Image } from '@hyperplane/contract/vmm/content/image'
import { Vm } from '@hyperplane/contract/vmm/vm/vm'
import fc from 'fast-check'
import { evaluateFilter } from '../../../odata/index.ts'
import { covers } from './coverage.ts'
import { type EntityFilterPart, ownedBy, readEntityFilter, scopeOf } from './entity-filter.ts'

const giver = '11111111-1111-4111-8111-111111111111'
const holder = '22222222-2222-4222-8222-222222222222'
const ids = [giver, holder, 'aaaaaaaa-aaaa-4aaa-8aaa-aaaaaaaaaaaa', 'AAAAAAAA-AAAA-4AAA-8AAA-AAAAAAAAAAAA']
const values = [...ids, 'SELF_OWNED', '*']

const partOf = (filter: object): EntityFilterPart => readEntityFilter(filter, '')[0] as EntityFilterPart
const image = (attributes: object): EntityFilterPart => partOf({ image: attributes })

const value = fc.constantFrom(...values)
const condition = fc.oneof(
  fc.record({ eq: value }),
  fc.record({ noteq: value }),
  fc.record({ anyof: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  fc.record({ allof: fc.array(value, { minLength: 1, maxLength: 3 }) }),
  fc.record({ noneof: fc.array(value, { minLength: 1, maxLength: 3 }) }),
)
const conditions = fc.array(condition, { minLength: 1, maxLength: 2 }).map((all) => Object.assign({}, ...all))
const attributeNames = [
  'uuid',
  'extId',
  'owner_uuid',
  'category_uuid',
  'categories',
  'name',
  'vpc_uuid',
  'cluster_uuid',
]
const attributes = fc.oneof(
  { weight: 1, arbitrary: fc.constant({ '*': { eq: '*' } }) },
  { weight: 9, arbitrary: fc.dictionary(fc.constantFrom(...attributeNames), conditions, { minKeys: 1, maxKeys: 3 }) },
)
const entityName = fc.constantFrom('*', 'image', 'images', 'virtual_machine', 'marketplace_item')
const written = fc.tuple(entityName, attributes)
const pairs = fc
  .tuple(written, written, fc.boolean(), fc.boolean())
  .map(([[ownEntity, own], [otherEntity, other], isSameEntity, repeats]) => ({
    own: partOf({ [ownEntity]: own }),
    given: partOf({ [isSameEntity ? ownEntity : otherEntity]: repeats ? { ...other, ...own } : other }),
  }))

const id = fc.constantFrom(...ids.map((one) => one.toLowerCase()))
const idList = fc.uniqueArray(id, { maxLength: 3 })
const rows = fc.array(
  fc.record(
    { extId: id, name: value, owner: id, categories: idList, cluster: id },
    { requiredKeys: ['extId', 'categories'] },
  ),
  { minLength: 8, maxLength: 8 },
)
type Row = { extId: string; name?: string; owner?: string; categories: readonly string[]; cluster?: string }
const asImage = ({ extId, name, owner, categories, cluster }: Row): object => ({
  extId,
  name,
  ownerExtId: owner,
  categoryExtIds: categories,
  clusterLocationExtIds: cluster === undefined ? [] : [cluster],
})
const asVm = ({ extId, name, owner, categories, cluster }: Row): object => ({
  extId,
  name,
  ownershipInfo: owner === undefined ? undefined : { owner: { extId: owner } },
  categories: categories.map((category) => ({ extId: category })),
  cluster: cluster === undefined ? undefined : { extId: cluster },
})

const reaches = (part: EntityFilterPart, row: Row, caller: string): readonly boolean[] => [
  evaluateFilter(scopeOf([[part]], Image, caller), asImage(row)) === true,
  evaluateFilter(scopeOf([[part]], Vm, caller), asVm(row)) === true,
]

function assertIncluded(own: EntityFilterPart, given: EntityFilterPart, all: readonly Row[], caller: string): void {
  for (const row of all) {
    const wider = reaches(own, row, giver)
    reaches(given, row, caller).forEach((isReached, kind) => {
      if (isReached) assert.ok(wider[kind], JSON.stringify({ own, given, row, caller }))
    })
  }
}

describe('a covered filter matches no entity that the covering filter does not match', () => {
  test('where SELF_OWNED stands for the holder', () => {
    let covered = 0
    fc.assert(
      fc.property(pairs, rows, ({ own, given }, all) => {
        if (!covers(ownedBy(own, giver), ownedBy(given, holder))) return
        covered += 1
        assertIncluded(own, given, all, holder)
      }),
      { numRuns: 5000, seed: 11 },
    )
    assert.ok(covered > 500, `only ${covered} pairs were covered: the property says nothing`)
  })

  test('whoever the holder is', () => {
    let covered = 0
    fc.assert(
      fc.property(pairs, rows, id, ({ own, given }, all, anybody) => {
        if (!covers(ownedBy(own, giver), given)) return
        covered += 1
        assertIncluded(own, given, all, anybody)
      }),
      { numRuns: 5000, seed: 12 },
    )
    assert.ok(covered > 500, `only ${covered} pairs were covered: the property says nothing`)
  })
})

test('an equal filter is covered, and one with further conditions', () => {
  fc.assert(
    fc.property(written, attributes, ([entity, own], more) => {
      const wide = ownedBy(partOf({ [entity]: own }), giver)
      assert.ok(covers(wide, wide))
      assert.ok(covers(wide, ownedBy(partOf({ [entity]: { ...more, ...own } }), giver)))
    }),
    { seed: 13 },
  )
})

const [a, b, c] = ['a', 'b', 'c']
const table: readonly (readonly [string, object, object, boolean])[] = [
  ['everything of the kind', { '*': { eq: '*' } }, { name: { eq: a } }, true],
  ['a name, against everything', { name: { eq: a } }, { '*': { eq: '*' } }, false],
  ['fewer alternatives', { category_uuid: { anyof: [a, b] } }, { category_uuid: { eq: a } }, true],
  ['more alternatives', { category_uuid: { anyof: [a, b] } }, { category_uuid: { in: [a, c] } }, false],
  [
    'all of them, where any is enough',
    { category_uuid: { anyof: [a, b] } },
    { category_uuid: { allof: [b, c] } },
    true,
  ],
  [
    'any of them, where all are wanted',
    { category_uuid: { allof: [a, b] } },
    { category_uuid: { anyof: [a, b] } },
    false,
  ],
  ['more of them', { category_uuid: { allof: [a] } }, { category_uuid: { allof: [a, b] } }, true],
  ['another name of the attribute', { category_uuid: { eq: a } }, { categories: { eq: a } }, true],
  ['more exclusions', { name: { noteq: a } }, { name: { noneof: [a, b] } }, true],
  ['fewer exclusions', { name: { noneof: [a, b] } }, { name: { noteq: a } }, false],
  ['one value, where another is excluded', { category_uuid: { noteq: b } }, { category_uuid: { eq: a } }, false],
  ['every id, against one that is spelt *', { uuid: { anyof: ['*', a] } }, { uuid: { eq: '*' } }, false],
  ['a condition on something else', { category_uuid: { eq: a } }, { name: { eq: a } }, false],
]
for (const [title, own, given, expected] of table) {
  test(`${title}: ${expected ? 'covered' : 'not covered'}`, () =>
    assert.equal(covers(image(own), image(given)), expected))
}

test("SELF_OWNED of another user is covered neither by SELF_OWNED nor by the holder's id", () => {
  const own = image({ owner_uuid: { eq: 'SELF_OWNED' } })
  assert.equal(covers(ownedBy(own, giver), own), false)
  assert.equal(covers(ownedBy(own, giver), ownedBy(own, holder)), false)
  assert.equal(covers(ownedBy(own, giver), image({ owner_uuid: { eq: giver } })), true)
  assert.equal(covers(image({ owner_uuid: { eq: giver } }), ownedBy(own, giver)), true)
})

test('a filter on one kind does not cover another kind, and only a filter on every kind covers every kind', () => {
  const all = { '*': { eq: '*' } }
  assert.equal(covers(partOf({ subnet: all }), image(all)), false)
  assert.equal(covers(image(all), partOf({ '*': all })), false)
  assert.equal(covers(partOf({ '*': { name: { eq: a } } }), partOf({ '*': { name: { eq: a } } })), true)
  assert.equal(covers(partOf({ images: all }), image({ name: { eq: a } })), true)
})
