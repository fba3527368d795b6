import { run } from './groups.ts'

await run('vmm-i-z')
