import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placementOf } from './placement.ts'

const ids = (of: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${of}-0000-0000-0000-${String(index).padStart(12, '0')}`)

test('images with as many categories as allowed are compared with as many policies as allowed within seconds', () => {
  const images = { type: 'CATEGORIES_MATCH_ANY', categoryExtIds: ids('11111111', 100) } as const
  const active = Array.from({ length: 500 }, (_, index) => ({
    extId: String(index),
    name: String(index),
    changedAt: '',
    isHard: false,
    images,
    clusterExtIds: [],
  }))
  const categories = ids('22222222', 1250)
  const start = performance.now()
  for (let image = 0; image < 20; image++) assert.deepEqual(placementOf(active, categories).policies, [])
  assert.ok(performance.now() - start < 3000)
  assert.equal(placementOf(active, [...categories, images.categoryExtIds[99] as string]).policies.length, 500)
})
