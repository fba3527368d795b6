import { run } from './groups.ts'

run('conventions')
