import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RenderedTexts } from './rendered-texts.ts'

test('the text of a frozen entity is rendered once for each form of answer', () => {
  const texts = new RenderedTexts()
  const entity = Object.freeze({ name: 'web' })
  let rendered = 0
  const textIn = (form: string) => texts.of(entity, form, () => `${form} ${++rendered}`)
  assert.deepEqual(
    [textIn('spec'), textIn('public'), textIn('spec'), textIn('public')],
    ['spec 1', 'public 2', 'spec 1', 'public 2'],
  )
  assert.deepEqual([texts.hits, texts.misses, texts.bytes], [2, 2, 'spec 1public 2'.length])
})

test('the text of an object that can change is rendered each time', () => {
  const texts = new RenderedTexts()
  const entity = { name: 'old' }
  const text = () => texts.of(entity, 'spec', () => entity.name)
  assert.equal(text(), 'old')
  entity.name = 'new'
  assert.equal(text(), 'new')
  assert.equal(texts.bytes, 0)
})

test('one entity that is answered in ever new forms does not fill the cache', () => {
  const texts = new RenderedTexts()
  const entity = Object.freeze({ name: 'web' })
  for (let number = 0; number < 1000; number++) texts.of(entity, `https://host-${number}`, () => 'x'.repeat(100))
  assert.ok(texts.bytes <= 800, `${texts.bytes}`)
})
