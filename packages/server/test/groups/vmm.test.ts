import { run } from './groups.ts'

run('vmm')
