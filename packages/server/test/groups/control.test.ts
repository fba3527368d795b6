import { run } from './groups.ts'

run('control')
