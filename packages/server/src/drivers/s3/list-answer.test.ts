import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isList } from './list-answer.ts'

test('lists of real services are accepted', () => {
  const object = '<Contents><Key>a &lt; b</Key><Size>3</Size><Owner><ID/></Owner><Tag x="1" /></Contents>'
  const answers = [
    `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.example/">${object}${object}</ListBucketResult>`,
    '<ListBucketResult></ListBucketResult>',
    '<ListBucketResult/>',
  ]
  for (const answer of answers) assert.equal(isList(answer), true, answer)
})

test('unclosed, wrongly nested and too deep elements are refused', () => {
  const deep = Array.from({ length: 9 }, (_, level) => `l${level}`)
  const answers = [
    '<a>',
    '<a><b></a></b>',
    '<a><a></a></a>',
    '<a><b </a>',
    '</a>',
    `${deep.map((name) => `<${name}>`).join('')}${deep
      .map((name) => `</${name}>`)
      .reverse()
      .join('')}`,
    '<a>'.repeat(1_000_000),
    '<a '.repeat(1_000_000),
    `<a${' '.repeat(1_000_000)}`,
  ]
  for (const answer of answers) assert.equal(isList(answer), false, answer.slice(0, 60))
})
