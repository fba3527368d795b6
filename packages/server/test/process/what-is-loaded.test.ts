/** Modules that a start does not load. Source: docs/decisions/2026-11-21-what-a-start-does-not-need.md. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'

const app = pathToFileURL(resolve(import.meta.dirname, '../../src/app.ts')).href

test('the service is loaded without the YAML reader, and without the client behind fetch', () => {
  const program = `
    import { createRequire } from 'node:module'
    await import(${JSON.stringify(app)})
    const own = Object.keys(createRequire(${JSON.stringify(app)}).cache)
    console.log(JSON.stringify([...own, ...process.moduleLoadList]))`
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module']
  const printed = execFileSync(process.execPath, [...flags, '--eval', program], { encoding: 'utf8' })
  const loaded: string[] = JSON.parse(printed)
  assert.ok(loaded.some((name) => name.includes('/pino/')) && loaded.includes('NativeModule http'), printed)
  assert.deepEqual(
    loaded.filter((name) => name.includes('/yaml/') || name.includes('deps/undici/undici')),
    [],
  )
})
