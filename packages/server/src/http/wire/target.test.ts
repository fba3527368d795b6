import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTarget } from './target.ts'

test('a target is a path with a query, or a URL with its own authority', () => {
  for (const [target, path, query, authority] of [
    ['/', '/', '', undefined],
    ['/api/x?a=1?b', '/api/x', 'a=1?b', undefined],
    ['//b.example/x', '//b.example/x', '', undefined],
    ['http://b.example', '/', '', 'b.example'],
    ['https://b.example:9440/api?x=http://c', '/api', 'x=http://c', 'b.example:9440'],
    ['HTTP://B.example?x', '/', 'x', 'B.example'],
    ['https:///api', '/api', '', ''],
    ['ftp://b.example/api', 'ftp://b.example/api', '', undefined],
    ['*', '*', '', undefined],
  ] as const)
    assert.deepEqual(readTarget(target), { path, query, authority }, target)
})
